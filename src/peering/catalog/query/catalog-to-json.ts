/**
 * The JSON of nodes, services and checks in responses. Keys and nesting are those of Consul's API. The text of each
 * resolved node and instance is built once.
 */
import { derivedFrom } from '../../../state/memory/derived-cache.ts';
import type { InstanceCheck, InstanceNode, InstanceService, ServiceAddress } from '../tables/instance.ts';
import type { CatalogScope, Indexes, ResolvedInstance, ResolvedNode } from './resolved-instances.ts';

const scopeToJson = ({ partition, peer }: CatalogScope): object => ({
  Partition: partition,
  ...(peer !== undefined && { PeerName: peer }),
});

const indexesToJson = ({ createIndex, modifyIndex }: Indexes): object => ({
  CreateIndex: createIndex,
  ModifyIndex: modifyIndex,
});

export function nodeToJson(resolved: ResolvedNode): object {
  const { node } = resolved;
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: node.datacenter,
    ...scopeToJson(resolved),
    TaggedAddresses: node.taggedAddresses,
    Meta: node.meta,
    ...indexesToJson(resolved.indexes),
  };
}

/** Returns the service in the form that is nested below a node. */
export function serviceToJson(resolved: ResolvedInstance): object {
  const { service, node } = resolved.instance;
  return {
    ...(service.kind !== '' && { Kind: service.kind }),
    ID: service.id,
    Service: service.name,
    Tags: service.tags,
    Meta: service.meta,
    Port: service.port,
    Address: service.address,
    ...(service.socketPath !== '' && { SocketPath: service.socketPath }),
    TaggedAddresses: taggedAddressesToJson(service.taggedAddresses),
    Weights: weightsToJson(service),
    EnableTagOverride: false,
    ...(service.mesh !== undefined && { Connect: meshToJson(service.mesh) }),
    Datacenter: node.datacenter,
    ...scopeToJson(resolved),
    ...indexesToJson(resolved.indexes),
  };
}

/** Returns the service and its node in one flat object, for `/v1/catalog/service/:name`. */
export function catalogServiceToJson(resolved: ResolvedInstance): object {
  const { node, service } = resolved.instance;
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: node.datacenter,
    ...scopeToJson(resolved),
    TaggedAddresses: node.taggedAddresses,
    NodeMeta: node.meta,
    ServiceID: service.id,
    ServiceName: service.name,
    ...(service.kind !== '' && { ServiceKind: service.kind }),
    ServiceAddress: service.address,
    ServicePort: service.port,
    ...(service.socketPath !== '' && { ServiceSocketPath: service.socketPath }),
    ServiceTags: service.tags,
    ServiceMeta: service.meta,
    ServiceTaggedAddresses: taggedAddressesToJson(service.taggedAddresses),
    ServiceWeights: weightsToJson(service),
    ServiceEnableTagOverride: false,
    ...indexesToJson(resolved.indexes),
  };
}

function checkToJson(
  check: InstanceCheck,
  node: InstanceNode,
  resolved: CatalogScope & { readonly indexes: Indexes },
): object {
  return {
    Node: node.name,
    CheckID: check.id,
    Name: check.name,
    Status: check.status,
    Notes: check.notes,
    Output: check.output,
    ServiceID: check.serviceId,
    ServiceName: check.serviceName,
    ServiceTags: check.serviceTags,
    Type: check.type,
    ...scopeToJson(resolved),
    Definition: check.definition ?? {},
    ...indexesToJson(resolved.indexes),
  };
}

const weightsToJson = ({ weights }: InstanceService): object => ({
  Passing: weights.passing,
  Warning: weights.warning,
});

const taggedAddressesToJson = (addresses: Readonly<Record<string, ServiceAddress>>): object =>
  Object.fromEntries(
    Object.entries(addresses).map(([tag, { address, port }]) => [tag, { Address: address, Port: port }]),
  );

const meshToJson = ({ native, sni, spiffeId, protocol }: NonNullable<InstanceService['mesh']>): object => ({
  Native: native,
  PeerMeta: { SNI: sni, SpiffeID: spiffeId, Protocol: protocol },
});

/** Returns a function that serializes each object once. */
const memoizedJson = <T extends object>(toJson: (resolved: T) => unknown): ((resolved: T) => string) =>
  derivedFrom((resolved) => JSON.stringify(toJson(resolved)));

export const nodeJsonText = memoizedJson(nodeToJson);
export const serviceJsonText = memoizedJson(serviceToJson);
export const catalogServiceJsonText = memoizedJson(catalogServiceToJson);

/** Returns an instance with its node and the checks of both, for `/v1/health/service/:name`. */
export const healthToJson = (resolved: ResolvedInstance): object => ({
  Node: nodeToJson(resolved.resolvedNode),
  Service: serviceToJson(resolved),
  Checks: resolved.instance.checks.map((check) =>
    checkToJson(check, resolved.instance.node, check.serviceId === '' ? resolved.resolvedNode : resolved),
  ),
});

export const healthJsonText = memoizedJson(healthToJson);

/** A check with the node, partition and indexes that responses contain. */
export interface ResolvedCheck {
  readonly check: InstanceCheck;
  readonly node: InstanceNode;
  readonly resolved: CatalogScope & { readonly indexes: Indexes };
}

export const checksOfNode = (resolved: ResolvedNode): ResolvedCheck[] =>
  resolved.checks.map((check) => ({ check, node: resolved.node, resolved }));

/** Returns the checks of the service, without those of its node. */
export const checksOfService = (resolved: ResolvedInstance): ResolvedCheck[] =>
  resolved.instance.checks
    .filter(({ serviceId }) => serviceId !== '')
    .map((check) => ({ check, node: resolved.instance.node, resolved }));

export const resolvedCheckToJson = ({ check, node, resolved }: ResolvedCheck): object =>
  checkToJson(check, node, resolved);

export const checkJsonText = (resolved: ResolvedCheck): string => JSON.stringify(resolvedCheckToJson(resolved));
