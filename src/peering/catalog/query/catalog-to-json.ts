/**
 * Nodes, services and checks as the API shows them: keys and nesting are those of Consul's API, so that its clients
 * read them. Texts are made once for what was found.
 */

import type { InstanceCheck, InstanceNode, InstanceService, ServiceAddress } from '../tables/instance.ts';
import type { FoundInstance, FoundNode, Indexes, Place } from './resolved-instances.ts';

/** What tells where something is from. */
const placeOf = ({ partition, peer }: Place): object => ({
  Partition: partition,
  ...(peer !== undefined && { PeerName: peer }),
});

const indexesOf = ({ createIndex, modifyIndex }: Indexes): object => ({
  CreateIndex: createIndex,
  ModifyIndex: modifyIndex,
});

/** A node. */
function showNode(found: FoundNode): object {
  const { node } = found;
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: node.datacenter,
    ...placeOf(found),
    TaggedAddresses: node.taggedAddresses,
    Meta: node.meta,
    ...indexesOf(found.indexes),
  };
}

/** A service as it stands on a node. */
function showService(found: FoundInstance): object {
  const { service, node } = found.instance;
  return {
    ...(service.kind !== '' && { Kind: service.kind }),
    ID: service.id,
    Service: service.name,
    Tags: service.tags,
    Meta: service.meta,
    Port: service.port,
    Address: service.address,
    ...(service.socketPath !== '' && { SocketPath: service.socketPath }),
    TaggedAddresses: showTaggedAddresses(service.taggedAddresses),
    Weights: showWeights(service),
    EnableTagOverride: false,
    ...(service.mesh !== undefined && { Connect: showMesh(service.mesh) }),
    Datacenter: node.datacenter,
    ...placeOf(found),
    ...indexesOf(found.indexes),
  };
}

/** A service and its node in one. */
function showCatalogService(found: FoundInstance): object {
  const { node, service } = found.instance;
  return {
    ID: node.id,
    Node: node.name,
    Address: node.address,
    Datacenter: node.datacenter,
    ...placeOf(found),
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
    ServiceTaggedAddresses: showTaggedAddresses(service.taggedAddresses),
    ServiceWeights: showWeights(service),
    ServiceEnableTagOverride: false,
    ...indexesOf(found.indexes),
  };
}

/** A check of a node that is shown somewhere. */
function showCheck(check: InstanceCheck, node: InstanceNode, found: Place & { readonly indexes: Indexes }): object {
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
    ...placeOf(found),
    Definition: check.definition ?? {},
    ...indexesOf(found.indexes),
  };
}

const showWeights = ({ weights }: InstanceService): object => ({ Passing: weights.passing, Warning: weights.warning });

const showTaggedAddresses = (addresses: Readonly<Record<string, ServiceAddress>>): object =>
  Object.fromEntries(
    Object.entries(addresses).map(([tag, { address, port }]) => [tag, { Address: address, Port: port }]),
  );

const showMesh = ({ native, sni, spiffeId, protocol }: NonNullable<InstanceService['mesh']>): object => ({
  Native: native,
  PeerMeta: { SNI: sni, SpiffeID: spiffeId, Protocol: protocol },
});

/** A text of something that never changes, made when it is first asked for. */
function keptText<T extends object>(show: (found: T) => unknown): (found: T) => string {
  const texts = new WeakMap<T, string>();
  return (found) => {
    let text = texts.get(found);
    if (text === undefined) {
      text = JSON.stringify(show(found));
      texts.set(found, text);
    }
    return text;
  };
}

export const nodeText = keptText(showNode);
export const serviceText = keptText(showService);
export const catalogServiceText = keptText(showCatalogService);

/** An element of `/v1/health/service/:name`. */
export const healthText = keptText((found: FoundInstance) => ({
  Node: showNode(found.on),
  Service: showService(found),
  Checks: found.instance.checks.map((check) =>
    showCheck(check, found.instance.node, check.serviceId === '' ? found.on : found),
  ),
}));

/** A check that was found, with what says where. */
export interface FoundCheck {
  readonly check: InstanceCheck;
  readonly node: InstanceNode;
  readonly found: Place & { readonly indexes: Indexes };
}

/** The checks of a whole node. */
export const checksOfNode = (found: FoundNode): FoundCheck[] =>
  found.checks.map((check) => ({ check, node: found.node, found }));

/** The checks of a service alone. */
export const checksOfService = (found: FoundInstance): FoundCheck[] =>
  found.instance.checks
    .filter(({ serviceId }) => serviceId !== '')
    .map((check) => ({ check, node: found.instance.node, found }));

/** An element of a list of checks. */
export const checkText = ({ check, node, found }: FoundCheck): string => JSON.stringify(showCheck(check, node, found));

/** Checks by their ID. */
export const checksById = (checks: readonly FoundCheck[]): object =>
  Object.fromEntries(checks.map(({ check, node, found }) => [check.id, showCheck(check, node, found)]));
