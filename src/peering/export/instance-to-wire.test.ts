import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Instance, InstanceCheck } from '../catalog/tables/instance.ts';
import { instanceFromWire } from '../stream/importing/instance-from-wire.ts';
import {
  type ExportedService,
  ExportedServiceSchema,
  ReplicationMessageSchema,
} from '../stream/wire/gen/peering/peerstream_pb.ts';
import { decodeResource, readMessage } from '../stream/wire/messages.ts';
import { encodeInstances } from './instance-to-wire.ts';

/** Returns services that a Consul server exported, from the recordings in test/data/peer-stream. */
function recordedServices(name: string, consul: string): readonly ExportedService[] {
  const file = new URL(`../../../test/data/peer-stream/${name}.jsonl`, import.meta.url);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.flatMap((line) => {
    const { from, bytes } = JSON.parse(line) as { from: string; bytes: string };
    if (from !== consul) return [];
    const received = readMessage(fromBinary(ReplicationMessageSchema, Buffer.from(bytes, 'base64')));
    if (received.type !== 'response-received') return [];
    const resource = decodeResource(received.response);
    return resource.kind === 'service' ? [resource.message] : [];
  });
}

const instancesOf = ({ Nodes }: ExportedService): readonly Instance[] =>
  Nodes.map((node) => {
    const instance = instanceFromWire(node);
    assert.ok(instance);
    return instance;
  });

const decoded = (instances: readonly Instance[]): ExportedService =>
  fromBinary(ExportedServiceSchema, encodeInstances(instances));

const instance = (fields: Partial<Instance> = {}): Instance => ({
  node: {
    id: '9d2d4bb5-5d8a-4e5b-a8a6-5b0c8fbb2c77',
    name: 'n1',
    address: '10.0.0.1',
    datacenter: 'dc1',
    partition: 'default',
    taggedAddresses: { wan: '192.0.2.1', lan: '10.0.0.1' },
    meta: { rack: '7', az: 'b' },
  },
  service: {
    id: 'web-1',
    name: 'web',
    kind: '',
    tags: ['v1'],
    address: '10.0.0.9',
    port: 80,
    socketPath: '',
    meta: { version: '2' },
    weights: { passing: 10, warning: 0 },
    taggedAddresses: { wan: { address: '192.0.2.9', port: 8080 } },
  },
  checks: [],
  ...fields,
});

const check = (id: string, status: string): InstanceCheck => ({
  id,
  name: id,
  status,
  notes: 'secret notes',
  output: 'secret output',
  type: 'ttl',
  serviceId: 'web-1',
  serviceName: 'web',
  serviceTags: ['v1'],
});

test('encodeInstances encodes services without a mesh like Consul, field by field', () => {
  const plain = [...recordedServices('peer-accepts', 'acceptor'), ...recordedServices('peer-dials', 'dialer')];
  const own = plain.filter(({ Nodes }) =>
    Nodes.every(({ Service }) => Service?.Connect === undefined && Service?.Kind === ''),
  );
  assert.ok(own.length >= 4);
  for (const service of own) assert.deepEqual(decoded(instancesOf(service)), service);
});

test('instanceFromWire decodes what encodeInstances encodes', () => {
  const [there] = instancesOf(decoded([instance()]));
  assert.deepEqual(there, { ...instance(), node: { ...instance().node, partition: '' } });
});

test('instanceFromWire takes absent weights as 1 and 1 [STREAM-63]', () => {
  const [node] = decoded([instance()]).Nodes;
  assert.ok(node?.Service?.Weights !== undefined);
  assert.deepEqual(instanceFromWire(node)?.service.weights, { passing: 10, warning: 0 });
  delete node.Service.Weights;
  assert.deepEqual(instanceFromWire(node)?.service.weights, { passing: 1, warning: 1 });
});

test('encodeInstances gives equal bytes for maps in another order [STREAM-61]', () => {
  const one = instance();
  const { meta, taggedAddresses } = one.node;
  const reversed = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(map).reverse());
  const other = { ...one, node: { ...one.node, meta: reversed(meta), taggedAddresses: reversed(taggedAddresses) } };
  assert.notDeepEqual(Object.keys(other.node.meta), Object.keys(meta));
  assert.deepEqual(encodeInstances([other]), encodeInstances([one]));
});

test('encodeInstances omits partition, peer name, indexes and details of checks [STREAM-61]', () => {
  const message = decoded([instance({ checks: [check('a', 'passing')] })]);
  const [node] = message.Nodes;
  assert.equal(node?.Node?.Partition, '');
  assert.equal(node?.Node?.PeerName, '');
  assert.equal(node?.Service?.PeerName, '');
  assert.equal(node?.Service?.Connect, undefined);
  for (const part of [node?.Node, node?.Service, node?.Checks[0]]) assert.equal(part?.RaftIndex, undefined);
  assert.doesNotMatch(
    Buffer.from(toBinary(ExportedServiceSchema, create(ExportedServiceSchema, message))).toString(),
    /secret/,
  );
});

describe('encodeInstances folds the checks of an instance [STREAM-62]', () => {
  const cases: readonly (readonly [checks: readonly InstanceCheck[], status: string])[] = [
    [[check('a', 'passing'), check('b', 'passing')], 'passing'],
    [[check('a', 'passing'), check('b', 'warning')], 'warning'],
    [[check('a', 'critical'), check('b', 'warning')], 'critical'],
    [[check('a', 'critical'), check('_node_maintenance', 'critical')], 'maintenance'],
    [[check('_service_maintenance:web-1', 'critical')], 'maintenance'],
  ];
  for (const [checks, status] of cases) {
    test(`${checks.map((one) => `${one.id} ${one.status}`).join(' and ')} into ${status}`, () => {
      const all = decoded([instance({ checks })]).Nodes[0]?.Checks ?? [];
      assert.deepEqual(
        all.map(({ CheckID, Name, Node, ServiceID, ServiceName, Status, Notes, Output, Type }) => [
          [CheckID, Name, Node, ServiceID, ServiceName, Status],
          [Notes, Output, Type],
        ]),
        [
          [
            ['web-1:overall-check', 'overall-check', 'n1', 'web-1', 'web', status],
            ['', '', ''],
          ],
        ],
      );
    });
  }

  test('sends no check for an instance without checks', () => {
    assert.deepEqual(decoded([instance()]).Nodes[0]?.Checks, []);
  });
});
