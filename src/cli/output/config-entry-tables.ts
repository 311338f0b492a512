/** The API JSON of configuration entries and previews, and the text printed from it. */
import { details, table } from './output.ts';

interface Consumer {
  readonly Peer?: string;
  readonly Partition?: string;
}

interface Source extends Consumer {
  readonly Name: string;
  readonly Action: string;
  readonly Precedence: number;
  readonly Description?: string;
}

export interface Entry {
  readonly Kind: string;
  readonly Name: string;
  readonly Partition: string;
  readonly Services?: readonly { readonly Name: string; readonly Consumers: readonly Consumer[] }[];
  readonly Sources?: readonly Source[];
  readonly ModifyIndex: number;
}

/** The effect that writing an entry would have, in the API's JSON. */
export interface Preview {
  readonly Peers: readonly {
    readonly Peer: string;
    readonly Gains: readonly string[];
    readonly Loses: readonly string[];
  }[];
  readonly Sources: readonly (Consumer & { readonly Name: string; readonly Before: string; readonly After: string })[];
}

export function describeEntry({ Kind, Name, Partition, Services, Sources, ModifyIndex }: Entry): string {
  const head = details([
    ['Kind', Kind],
    ['Name', Name],
    ['Partition', Partition],
    ['Modify index', String(ModifyIndex)],
  ]);
  const services =
    Services === undefined
      ? ''
      : `\n${table(
          ['SERVICE', 'CONSUMERS'],
          Services.map((service) => [service.Name, service.Consumers.map(consumerText).join(', ')]),
        )}`;
  const sources =
    Sources === undefined
      ? ''
      : `\n${table(
          ['SOURCE', 'ACTION', 'PRECEDENCE', 'DESCRIPTION'],
          Sources.map((source) => [
            sourceText(source),
            source.Action,
            String(source.Precedence),
            source.Description ?? '',
          ]),
        )}`;
  return head + services + sources;
}

export const tabulateEntries = (entries: readonly Entry[]): string =>
  table(
    ['NAME', 'PARTITION', 'RULES', 'MODIFY INDEX'],
    entries.map(({ Name, Partition, Services = [], Sources = [], ModifyIndex }) => [
      Name,
      Partition,
      String(Services.length + Sources.length),
      String(ModifyIndex),
    ]),
  );

/** Formats the changes of a preview. Peers without a change are omitted. */
export function describePreview({ Peers, Sources }: Preview): string {
  const peers = Peers.flatMap(({ Peer, Gains, Loses }) => [
    ...Gains.map((service) => [Peer, 'gains', service]),
    ...Loses.map((service) => [Peer, 'loses', service]),
  ]);
  const sources = Sources.map((source) => [sourceText(source), source.Before, source.After]);
  if (peers.length === 0 && sources.length === 0) return 'No changes.\n';
  const tables = [
    ...(peers.length > 0 ? [table(['PEER', 'CHANGE', 'SERVICE'], peers)] : []),
    ...(sources.length > 0 ? [table(['SOURCE', 'BEFORE', 'AFTER'], sources)] : []),
  ];
  return tables.join('\n');
}

const consumerText = ({ Peer, Partition = '' }: Consumer): string =>
  Peer === undefined ? `partition ${Partition}` : `peer ${Peer}`;

const sourceText = (source: Consumer & { readonly Name: string }): string =>
  source.Peer === undefined && source.Partition === undefined
    ? source.Name
    : `${source.Name} (${consumerText(source)})`;
