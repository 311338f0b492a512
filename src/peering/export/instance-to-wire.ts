/**
 * Encodes local instances for peers. The messages omit this cluster's partition, peer name and indexes ([STREAM-61]).
 * Each instance has one check with the folded status ([STREAM-62]).
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import { overallStatus } from '../catalog/query/overall-status.ts';
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

/** Returns an encoded `ExportedService`. Equal instances in the same order give equal bytes. */
export const encodeInstances = (instances: readonly Instance[]): Uint8Array =>
  toBinary(ExportedServiceSchema, create(ExportedServiceSchema, { Nodes: instances.map(instanceToWire) }));

/** Creates the message of each instance once, because usually only one instance of a service changes at a time. */
const instanceToWire = derivedFrom(
  (instance: Instance): CheckServiceNode =>
    create(CheckServiceNodeSchema, {
      Node: nodeToWire(instance.node),
      Service: serviceToWire(instance.service),
      Checks: overallCheck(instance),
    }),
);

const nodeToWire = ({ id, name, address, datacenter, taggedAddresses, meta }: InstanceNode): Node =>
  create(NodeSchema, {
    ID: id,
    Node: name,
    Address: address,
    Datacenter: datacenter,
    TaggedAddresses: sortedByKey(taggedAddresses),
    Meta: sortedByKey(meta),
  });

function serviceToWire(service: InstanceService): NodeService {
  const { weights, taggedAddresses } = service;
  return create(NodeServiceSchema, {
    Kind: service.kind,
    ID: service.id,
    Service: service.name,
    Tags: [...service.tags],
    Address: service.address,
    Meta: sortedByKey(service.meta),
    Port: service.port,
    Weights: create(WeightsSchema, { Passing: weights.passing, Warning: weights.warning }),
    TaggedAddresses: Object.fromEntries(
      Object.entries(sortedByKey(taggedAddresses)).map(([tag, { address, port }]) => [
        tag,
        create(ServiceAddressSchema, { Address: address, Port: port }),
      ]),
    ),
    SocketPath: service.socketPath,
    EnterpriseMeta: {},
  });
}

/** Returns one check for all checks of an instance, or none for an instance without checks. */
function overallCheck({ node, service, checks }: Instance): HealthCheck[] {
  if (checks.length === 0) return [];
  return [
    create(HealthCheckSchema, {
      Node: node.name,
      CheckID: `${service.id}:overall-check`,
      Name: 'overall-check',
      Status: overallStatus(checks),
      ServiceID: service.id,
      ServiceName: service.name,
      EnterpriseMeta: {},
    }),
  ];
}

/** Sorts a map by key, so that equal maps have equal bytes. */
function sortedByKey<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
