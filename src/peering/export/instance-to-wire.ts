/**
 * Instances that were registered here, as they go to peers. The other side has its own names for the peer and for its
 * partition, and its own indexes: none of ours are told. How the checks are run is nobody's business there either: an
 * instance has one, which says the worst of them.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { foldChecks } from '../catalog/query/fold-checks.ts';
import type { Instance, InstanceNode, InstanceService } from '../catalog/tables/instance.ts';
import { ExportedServiceSchema } from '../stream/wire/gen/peering/peerstream_pb.ts';
import {
  type CheckServiceNode,
  CheckServiceNodeSchema,
  type HealthCheck,
  HealthCheckSchema,
  type Node,
  NodeSchema,
  type NodeService,
  NodeServiceSchema,
  ServiceAddressSchema,
  WeightsSchema,
} from '../stream/wire/gen/peering/service_pb.ts';

/** The bytes of an ExportedService: the same for the same instances in the same order. */
export const encodeInstances = (instances: readonly Instance[]): Uint8Array =>
  toBinary(ExportedServiceSchema, create(ExportedServiceSchema, { Nodes: instances.map(instanceToWire) }));

/** Made for the instance once: of a service with a thousand, one changes at a time. */
const made = new WeakMap<Instance, CheckServiceNode>();

function instanceToWire(instance: Instance): CheckServiceNode {
  let wire = made.get(instance);
  if (wire === undefined) {
    wire = create(CheckServiceNodeSchema, {
      Node: nodeToWire(instance.node),
      Service: serviceToWire(instance.service),
      Checks: overallCheck(instance),
    });
    made.set(instance, wire);
  }
  return wire;
}

const nodeToWire = ({ id, name, address, datacenter, taggedAddresses, meta }: InstanceNode): Node =>
  create(NodeSchema, {
    ID: id,
    Node: name,
    Address: address,
    Datacenter: datacenter,
    TaggedAddresses: inKeyOrder(taggedAddresses),
    Meta: inKeyOrder(meta),
  });

function serviceToWire(service: InstanceService): NodeService {
  const { weights, taggedAddresses } = service;
  return create(NodeServiceSchema, {
    Kind: service.kind,
    ID: service.id,
    Service: service.name,
    Tags: [...service.tags],
    Address: service.address,
    Meta: inKeyOrder(service.meta),
    Port: service.port,
    Weights: create(WeightsSchema, { Passing: weights.passing, Warning: weights.warning }),
    TaggedAddresses: Object.fromEntries(
      Object.entries(inKeyOrder(taggedAddresses)).map(([tag, { address, port }]) => [
        tag,
        create(ServiceAddressSchema, { Address: address, Port: port }),
      ]),
    ),
    SocketPath: service.socketPath,
    EnterpriseMeta: {},
  });
}

/** One check for all of an instance; none where there is none, as what is not checked counts as passing. */
function overallCheck({ node, service, checks }: Instance): HealthCheck[] {
  if (checks.length === 0) return [];
  return [
    create(HealthCheckSchema, {
      Node: node.name,
      CheckID: `${service.id}:overall-check`,
      Name: 'overall-check',
      Status: foldChecks(checks),
      ServiceID: service.id,
      ServiceName: service.name,
      EnterpriseMeta: {},
    }),
  ];
}

/** A map has no order on the wire: with one, equal content is equal bytes. */
function inKeyOrder<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
