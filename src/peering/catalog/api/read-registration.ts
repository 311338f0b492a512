/** What a request registers, checked and brought into the form in which it is kept. Texts of refusals: as Consul's, where it has some. */
import type { Asked } from '../../../credentials/operation.ts';
import { checkMeta } from '../../record/meta.ts';
import { CHECKS_MAX, NAME_CHARACTERS_MAX } from '../limits.ts';
import {
  inKeyOrder,
  readAddress,
  readId,
  readName,
  readNotes,
  readOutput,
  readService,
  readStatus,
  readTagged,
  readText,
  refused,
} from '../read-fields.ts';
import type { CatalogNode } from '../tables/catalog-node.ts';
import type { KeptCheck } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import type { CheckBody, DeregistrationBody, RegistrationBody, ServiceBody } from './bodies.ts';
import { ofPeer } from './read-parameters.ts';

/** What is given of a node. */
export type GivenNode = Pick<CatalogNode, 'name' | 'address' | 'id' | 'taggedAddresses' | 'meta'>;

/** Checks of the service with an ID; of the whole node where that is empty. */
export interface GivenChecks {
  readonly serviceId: string;
  readonly checks: readonly KeptCheck[];
}

export interface Registration {
  readonly node: GivenNode;
  /** A node that is there stays as it is. */
  readonly skipNode: boolean;
  readonly service: InstanceService | undefined;
  readonly checks: readonly GivenChecks[];
  /** Must be that of the cluster, where given. */
  readonly datacenter: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @throws ServiceError `bad-request` */
export function readRegistration(body: RegistrationBody): Registration {
  const { Service, Check, Checks = [], SkipNodeUpdate = false } = body;
  const given = Check === undefined ? Checks : [...Checks, Check];
  refuseForeign([body, ...(Service === undefined ? [] : [Service]), ...given]);
  const node = readGivenNode(body, SkipNodeUpdate);
  const service = Service === undefined || isEmpty(Service) ? undefined : readGivenService(Service);
  return {
    node,
    skipNode: SkipNodeUpdate,
    service,
    checks: groupChecks(given, node.name),
    datacenter: body.Datacenter ?? '',
  };
}

/** What a request takes away. */
export interface Deregistration {
  readonly node: string;
  /** Empty: not this service alone. */
  readonly serviceId: string;
  /** Empty: not this check alone. */
  readonly checkId: string;
  readonly datacenter: string;
}

/** @throws ServiceError `bad-request` */
export function readDeregistration(body: DeregistrationBody): Deregistration {
  refuseForeign([body]);
  const { Node = '', ServiceID = '', CheckID = '', Datacenter = '' } = body;
  if (Node === '') throw refused('Must provide node');
  return {
    node: readName('node', Node),
    serviceId: readId('service', ServiceID),
    checkId: readId('check', CheckID),
    datacenter: Datacenter,
  };
}

/** The request with the partition that its body names, in one place or in several. @throws ServiceError `bad-request` */
export function namingPartition(asked: Asked, body: RegistrationBody | DeregistrationBody): Asked {
  const named = new Map<string, string>();
  const inner = 'Service' in body || 'Check' in body || 'Checks' in body ? innerOf(body) : [];
  for (const { Partition = '' } of [body, ...inner])
    if (Partition !== '') named.set(Partition.toLowerCase(), Partition);
  const [first, second] = named.values();
  if (second !== undefined) throw refused(`the request names two partitions, "${first}" and "${second}": want one`);
  return first === undefined ? asked : { ...asked, partitions: { ...asked.partitions, body: first } };
}

function innerOf({ Service, Check, Checks = [] }: RegistrationBody): readonly { readonly Partition?: string }[] {
  return [Service, Check, ...Checks].filter((part) => part !== undefined);
}

/** A part of a request that could speak of something that is not kept here. */
interface Placed {
  readonly PeerName?: string;
  readonly Namespace?: string;
}

function refuseForeign(parts: readonly Placed[]): void {
  for (const { PeerName = '', Namespace = '' } of parts) {
    if (PeerName !== '') throw ofPeer(PeerName);
    if (Namespace !== '' && Namespace !== 'default')
      throw refused(`there is no namespace "${Namespace}": there are none`);
  }
}

function readGivenNode(body: RegistrationBody, skipped: boolean): GivenNode {
  const { Node = '', Address = '', ID = '', TaggedAddresses, NodeMeta } = body;
  if (Node === '') throw refused('Must provide node');
  if (Address === '' && !skipped) throw refused('Must provide address if SkipNodeUpdate is not set');
  if (ID !== '' && !UUID.test(ID))
    throw refused(`Bad node ID: ${JSON.stringify(ID.slice(0, NAME_CHARACTERS_MAX))} is no UUID`);
  checkMeta(NodeMeta);
  const taggedAddresses = readTagged(TaggedAddresses);
  for (const address of Object.values(taggedAddresses)) readAddress('tagged address', address);
  return {
    name: readName('node', Node),
    address: readAddress('node address', Address),
    id: ID.toLowerCase(),
    taggedAddresses,
    meta: inKeyOrder(NodeMeta),
  };
}

/** Some clients send an object without anything in it for no service. */
const isEmpty = ({ ID = '', Service = '' }: ServiceBody): boolean => ID === '' && Service === '';

function readGivenService(given: ServiceBody): InstanceService {
  if (!given.Service) throw refused('Must provide service name (Service.Service) when service ID is provided');
  return readService(given, given.Service);
}

function groupChecks(given: readonly CheckBody[], node: string): readonly GivenChecks[] {
  if (given.length === 0) return [];
  const groups = new Map<string, KeptCheck[]>();
  for (const check of given) {
    const { Node = '', ServiceID = '' } = check;
    if (Node !== '' && Node.toLowerCase() !== node.toLowerCase()) {
      throw refused(`a check is of node "${Node}", and the request of node "${node}": want one`);
    }
    const group = groups.get(ServiceID) ?? [];
    groups.set(readId('service', ServiceID), group);
    group.push(readCheck(check));
  }
  if (given.length > CHECKS_MAX) throw refused(`${given.length} checks are too many, want at most ${CHECKS_MAX}`);
  return [...groups].map(([serviceId, checks]) => ({ serviceId, checks }));
}

function readCheck({
  CheckID,
  Name = '',
  Status,
  Notes = '',
  Output = '',
  Type = '',
  Definition,
}: CheckBody): KeptCheck {
  const id = readId('check', CheckID || Name);
  if (id === '') throw refused('Must provide a CheckID or a Name for every check');
  const definition = Definition === undefined ? {} : withoutEmpty(Definition);
  return {
    id,
    name: readText('check name', Name, NAME_CHARACTERS_MAX),
    status: readStatus(Status || 'critical'),
    notes: readNotes(Notes),
    output: readOutput(Output),
    type: readText('check type', Type, NAME_CHARACTERS_MAX),
    ...(Object.keys(definition).length > 0 && { definition }),
  };
}

/** Clients send every field of a definition; those that say nothing are left out. */
function withoutEmpty(definition: NonNullable<CheckBody['Definition']>): NonNullable<CheckBody['Definition']> {
  const filled = Object.entries(definition).filter(
    ([, value]) => value !== '' && value !== false && value !== 0 && value !== '0s',
  );
  return Object.fromEntries(filled.sort(([a], [b]) => (a < b ? -1 : 1)));
}
