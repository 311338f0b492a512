/** Instances of services as they come over the wire, made into what the state keeps. */
import type { Instance, InstanceCheck, InstanceNode, InstanceService } from '../../catalog/tables/instance.ts';
import type { CheckServiceNode, HealthCheck, Node, NodeService } from '../wire/gen/peering/service_pb.ts';

/** Undefined: it has no node or no service, so there is nothing to talk to. */
export function instanceFromWire({ Node, Service, Checks }: CheckServiceNode): Instance | undefined {
  if (Node === undefined || Service === undefined) return undefined;
  return { node: nodeFromWire(Node), service: serviceFromWire(Service), checks: Checks.map(checkFromWire) };
}

const nodeFromWire = (node: Node): InstanceNode => ({
  id: node.ID,
  name: node.Node,
  address: node.Address,
  datacenter: node.Datacenter,
  partition: node.Partition,
  taggedAddresses: inKeyOrder(node.TaggedAddresses),
  meta: inKeyOrder(node.Meta),
});

function serviceFromWire(service: NodeService): InstanceService {
  const { Connect, Weights } = service;
  const mesh = Connect?.PeerMeta;
  return {
    id: service.ID,
    name: service.Service,
    kind: service.Kind,
    tags: service.Tags,
    address: service.Address,
    port: service.Port,
    socketPath: service.SocketPath,
    meta: inKeyOrder(service.Meta),
    // Weights that are not given are one each: so says the catalog that the wire comes from.
    weights: { passing: Weights?.Passing ?? 1, warning: Weights?.Warning ?? 1 },
    taggedAddresses: Object.fromEntries(
      Object.entries(inKeyOrder(service.TaggedAddresses)).map(([tag, { Address, Port }]) => [
        tag,
        { address: Address, port: Port },
      ]),
    ),
    ...(Connect === undefined
      ? {}
      : {
          mesh: {
            native: Connect.Native,
            sni: mesh?.SNI ?? [],
            spiffeId: mesh?.SpiffeID ?? [],
            protocol: mesh?.Protocol ?? '',
          },
        }),
  };
}

const checkFromWire = (check: HealthCheck): InstanceCheck => ({
  id: check.CheckID,
  name: check.Name,
  status: check.Status,
  notes: check.Notes,
  output: check.Output,
  type: check.Type,
  serviceId: check.ServiceID,
  serviceName: check.ServiceName,
  serviceTags: check.ServiceTags,
});

/** Maps come in any order: with one, the same instance is the same JSON. */
const inKeyOrder = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
