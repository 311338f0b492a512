/** Converts instances from the wire to rows. */
import type { Instance, InstanceCheck, InstanceNode, InstanceService } from '../../catalog/tables/instance.ts';
import type { CheckServiceNode, HealthCheck, Node, NodeService } from '../wire/gen/peering/service_pb.ts';

/** Returns `undefined` for an instance without a node or a service ([STREAM-64]). */
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
  taggedAddresses: sortedByKey(node.TaggedAddresses),
  meta: sortedByKey(node.Meta),
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
    meta: sortedByKey(service.Meta),
    // Absent weights are 1 and 1 ([STREAM-63]).
    weights: { passing: Weights?.Passing ?? 1, warning: Weights?.Warning ?? 1 },
    taggedAddresses: Object.fromEntries(
      Object.entries(sortedByKey(service.TaggedAddresses)).map(([tag, { Address, Port }]) => [
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

/** Sorts a map by key, so that equal instances have equal JSON. */
const sortedByKey = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
