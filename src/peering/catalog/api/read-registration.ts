/** Validates registrations and converts them to the stored form. Errors have Consul's texts where Consul has one. */
import type { RequestContext } from '../../../credentials/caller.ts';
import { checkMeta } from '../../record/meta.ts';
import { CHECKS_MAX, NAME_CHARACTERS_MAX } from '../limits.ts';
import {
  badRequest,
  readAddress,
  readId,
  readName,
  readNotes,
  readOutput,
  readService,
  readStatus,
  readTaggedAddresses,
  readText,
  sortKeys,
} from '../read-fields.ts';
import type { CatalogNode } from '../tables/catalog-node.ts';
import type { CatalogCheck } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import { importedReadOnly } from './read-parameters.ts';
import type { CheckBody, DeregistrationBody, RegistrationBody, ServiceBody } from './request-schemas.ts';

export type NodeFields = Pick<CatalogNode, 'name' | 'address' | 'id' | 'taggedAddresses' | 'meta'>;

/** The checks of one service, or of the whole node if `serviceId` is empty. */
export interface CheckGroup {
  readonly serviceId: string;
  readonly checks: readonly CatalogCheck[];
}

export interface Registration {
  readonly node: NodeFields;
  /** Whether an existing node stays unchanged (`SkipNodeUpdate`). */
  readonly skipNode: boolean;
  readonly service: InstanceService | undefined;
  readonly checks: readonly CheckGroup[];
  /** Empty or the datacenter of this cluster. */
  readonly datacenter: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @throws ServiceError `bad-request` */
export function readRegistration(body: RegistrationBody): Registration {
  const { Service, Check, Checks = [], SkipNodeUpdate = false } = body;
  const given = Check === undefined ? Checks : [...Checks, Check];
  rejectForeign([body, ...(Service === undefined ? [] : [Service]), ...given]);
  const node = readNodeFields(body, SkipNodeUpdate);
  const service = Service === undefined || isEmptyService(Service) ? undefined : readServiceFields(Service);
  return {
    node,
    skipNode: SkipNodeUpdate,
    service,
    checks: groupChecks(given, node.name),
    datacenter: body.Datacenter ?? '',
  };
}

/** The item that a request deregisters: a node, unless it names a service or check. */
export interface Deregistration {
  readonly node: string;
  /** Empty if the request names no service. */
  readonly serviceId: string;
  /** Empty if the request names no check. */
  readonly checkId: string;
  readonly datacenter: string;
}

/** @throws ServiceError `bad-request` */
export function readDeregistration(body: DeregistrationBody): Deregistration {
  rejectForeign([body]);
  const { Node = '', ServiceID = '', CheckID = '', Datacenter = '' } = body;
  if (Node === '') throw badRequest('Must provide node');
  return {
    node: readName('node', Node),
    serviceId: readId('service', ServiceID),
    checkId: readId('check', CheckID),
    datacenter: Datacenter,
  };
}

/**
 * Returns the context with the partition that the body, its service or its checks name ([SVC-22]).
 * @throws ServiceError `bad-request` if they name different partitions
 */
export function withNamedPartition(
  context: RequestContext,
  body: RegistrationBody | DeregistrationBody,
): RequestContext {
  const named = new Map<string, string>();
  const inner = 'Service' in body || 'Check' in body || 'Checks' in body ? nestedParts(body) : [];
  for (const { Partition = '' } of [body, ...inner])
    if (Partition !== '') named.set(Partition.toLowerCase(), Partition);
  const [first, second] = named.values();
  if (second !== undefined) throw badRequest(`the request names two partitions, "${first}" and "${second}": want one`);
  return first === undefined ? context : { ...context, partitions: { ...context.partitions, body: first } };
}

function nestedParts({ Service, Check, Checks = [] }: RegistrationBody): readonly { readonly Partition?: string }[] {
  return [Service, Check, ...Checks].filter((part) => part !== undefined);
}

/** The fields that would place a part of a request outside this cluster's catalog. */
interface ForeignFields {
  readonly PeerName?: string;
  readonly Namespace?: string;
}

function rejectForeign(parts: readonly ForeignFields[]): void {
  for (const { PeerName = '', Namespace = '' } of parts) {
    if (PeerName !== '') throw importedReadOnly(PeerName);
    if (Namespace !== '' && Namespace !== 'default')
      throw badRequest(`unknown namespace "${Namespace}": namespaces are not supported`);
  }
}

function readNodeFields(body: RegistrationBody, skipped: boolean): NodeFields {
  const { Node = '', Address = '', ID = '', TaggedAddresses, NodeMeta } = body;
  if (Node === '') throw badRequest('Must provide node');
  if (Address === '' && !skipped) throw badRequest('Must provide address if SkipNodeUpdate is not set');
  if (ID !== '' && !UUID.test(ID))
    throw badRequest(`Bad node ID: ${JSON.stringify(ID.slice(0, NAME_CHARACTERS_MAX))} is not a UUID`);
  checkMeta(NodeMeta);
  const taggedAddresses = readTaggedAddresses(TaggedAddresses);
  for (const address of Object.values(taggedAddresses)) readAddress('tagged address', address);
  return {
    name: readName('node', Node),
    address: readAddress('node address', Address),
    id: ID.toLowerCase(),
    taggedAddresses,
    meta: sortKeys(NodeMeta),
  };
}

/** Some clients send an empty object instead of no service ([SVC-10]). */
const isEmptyService = ({ ID = '', Service = '' }: ServiceBody): boolean => ID === '' && Service === '';

function readServiceFields(given: ServiceBody): InstanceService {
  if (!given.Service) throw badRequest('Must provide service name (Service.Service) when service ID is provided');
  return readService(given, given.Service);
}

function groupChecks(given: readonly CheckBody[], node: string): readonly CheckGroup[] {
  if (given.length === 0) return [];
  const groups = new Map<string, CatalogCheck[]>();
  for (const check of given) {
    const { Node = '', ServiceID = '' } = check;
    if (Node !== '' && Node.toLowerCase() !== node.toLowerCase()) {
      throw badRequest(`a check belongs to node "${Node}", and the request to node "${node}": want one node`);
    }
    const group = groups.get(ServiceID) ?? [];
    groups.set(readId('service', ServiceID), group);
    group.push(readCheck(check));
  }
  if (given.length > CHECKS_MAX) throw badRequest(`${given.length} checks: want at most ${CHECKS_MAX}`);
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
}: CheckBody): CatalogCheck {
  const id = readId('check', CheckID || Name);
  if (id === '') throw badRequest('Must provide a CheckID or a Name for every check');
  const definition = Definition === undefined ? {} : omitEmptyFields(Definition);
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

/** Returns the definition without empty fields, because some clients send every field. Sorts the keys. */
function omitEmptyFields(definition: NonNullable<CheckBody['Definition']>): NonNullable<CheckBody['Definition']> {
  const filled = Object.entries(definition).filter(
    ([, value]) => value !== '' && value !== false && value !== 0 && value !== '0s',
  );
  return Object.fromEntries(filled.sort(([a], [b]) => (a < b ? -1 : 1)));
}
