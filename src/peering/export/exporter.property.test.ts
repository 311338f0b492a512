/** Random registrations and entries: a peer never receives a service that its entry does not export. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import {
  startExporter,
  startPeer,
  type TestExporter,
  type TestPeer,
} from '../../../test/support/peering/test-exporter.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../../state/clock/next-turn.ts';
import { runAtOnce } from '../../state/clock/slices.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { localInstances } from '../catalog/query/local-instances.ts';
import { overallStatus } from '../catalog/query/overall-status.ts';
import { catalogNodes } from '../catalog/tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../catalog/tables/catalog-service.ts';
import { configEntries, entryKey, nameKey } from '../config-entries/config-entry.ts';
import { exportsTo } from '../config-entries/exported-services.ts';

const PARTITIONS = ['default', 'eu'];
const PEERS = ['east', 'west'];

type Step =
  | {
      readonly do: 'register';
      readonly partition: string;
      readonly node: string;
      readonly service: string;
      readonly port: number;
    }
  | { readonly do: 'deregister'; readonly partition: string; readonly node: string; readonly service: string }
  | { readonly do: 'lose'; readonly partition: string; readonly node: string }
  | {
      readonly do: 'export';
      readonly partition: string;
      readonly lines: readonly (readonly [string, readonly string[]])[];
    }
  | { readonly do: 'export nothing'; readonly partition: string }
  | { readonly do: 'take'; readonly peer: number; readonly count: number }
  | { readonly do: 'reconnect'; readonly peer: number };

/** Mostly the same value, so that it appears and disappears often, and sometimes another one. */
const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) });
const partition = mostly('default', 'eu');
const node = mostly('n1', 'n2');
const service = mostly('web', 'Web', 'db');
const peer = mostly(0, 1, 2, 3);
const consumers = fc.subarray([...PEERS, 'EAST'], { minLength: 1 });
const lines = fc.array(fc.tuple(fc.constantFrom('*', 'web', 'db', 'consul'), consumers), {
  minLength: 1,
  maxLength: 3,
});

const of = <K extends Step['do'], T>(kind: K, fields: { [P in keyof T]: fc.Arbitrary<T[P]> }) =>
  fc.record({ do: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Step>;
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: of('register', { partition, node, service, port: fc.nat(1) }) },
  { weight: 2, arbitrary: of('deregister', { partition, node, service }) },
  { weight: 1, arbitrary: of('lose', { partition, node }) },
  { weight: 4, arbitrary: of('export', { partition, lines }) },
  { weight: 3, arbitrary: of('export nothing', { partition }) },
  { weight: 8, arbitrary: of('take', { peer, count: fc.constantFrom(1, 2, 20) }) },
  { weight: 1, arbitrary: of('reconnect', { peer }) },
);

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api[Symbol.asyncDispose]());

/** Makes the keys of nodes unique, because the key of a deleted owner is never used again. */
let nodesCreated = 0;

function change(tx: Transaction, todo: Step): void {
  if (todo.do === 'register') {
    const existing = tx.find(catalogNodes, 'name', `${todo.partition}/${todo.node}`);
    const uid = existing?.row.uid ?? tx.memoizeAcrossRetries(() => `node-${++nodesCreated}`);
    const on = { uid, name: todo.node, partition: todo.partition, address: '10.0.0.1', id: '' };
    if (existing === undefined) tx.put(catalogNodes, { ...on, taggedAddresses: {}, meta: {}, checks: [] });
    const registered = {
      id: todo.service,
      name: todo.service,
      kind: '',
      tags: [],
      address: '',
      port: todo.port,
      socketPath: '',
      meta: {},
      weights: { passing: 1, warning: 1 },
      taggedAddresses: {},
    };
    tx.put(catalogServices, { node: uid, partition: todo.partition, service: registered, checks: [] });
  } else if (todo.do === 'deregister' || todo.do === 'lose') {
    const uid = tx.find(catalogNodes, 'name', `${todo.partition}/${todo.node}`)?.row.uid;
    if (uid === undefined) return;
    if (todo.do === 'lose') tx.delete(catalogNodes, uid);
    else tx.delete(catalogServices, catalogServiceKey(uid, todo.service));
  } else if (todo.do === 'export') {
    const services = todo.lines.map(([name, peers]) => ({ name, consumers: peers.map((one) => ({ peer: one })) }));
    const named = { name: todo.partition, partition: todo.partition, meta: {} };
    tx.put(configEntries, { ...named, kind: 'exported-services', services });
  } else if (todo.do === 'export nothing') {
    tx.delete(configEntries, entryKey(todo.partition, 'exported-services', todo.partition));
  }
}

interface Place {
  readonly partition: string;
  readonly peerName: string;
}

const places: readonly Place[] = PARTITIONS.flatMap((of) => PEERS.map((peerName) => ({ partition: of, peerName })));

/** Returns the services that the current entry exports, in the form of `TestPeer.services`. */
function allowed({ partition: of, peerName }: Place): Readonly<Record<string, readonly string[]>> {
  const { snapshot } = api.state;
  const { names } = exportsTo(snapshot, { partition: of, peerName });
  return Object.fromEntries(
    names.map((name) => [
      nameKey(name),
      runAtOnce(localInstances(snapshot, of, name)).map(({ node: on, service: { id, port }, checks }) =>
        `${on.name}/${id}:${port} ${checks.length === 0 ? '' : overallStatus(checks)}`.trim(),
      ),
    ]),
  );
}

/** Receives one message and asserts that its content is exported at that moment. */
function takeChecked(one: TestPeer, place: Place): void {
  const message = one.receive();
  if (message === undefined) return;
  const exported = allowed(place);
  if (message === 'list')
    for (const name of Object.keys(one.services)) assert.ok(name in exported, `${name} in a list`);
  const name = nameKey(message.slice('service/'.length));
  if (message !== 'list' && one.services[name] !== undefined)
    assert.deepEqual(one.services[name], exported[name], message);
}

/** Runs a step. Returns the write of a step that changes the state. */
function act(todo: Step, peers: TestPeer[], exporter: TestExporter): Promise<unknown> | undefined {
  if (todo.do !== 'take' && todo.do !== 'reconnect') return api.state.write((tx) => change(tx, todo));
  const place = places[todo.peer] as Place;
  const one = peers[todo.peer] as TestPeer;
  if (todo.do === 'reconnect') {
    one.close();
    peers[todo.peer] = startPeer(exporter, place.peerName, place.partition);
  } else {
    for (let i = 0; i < todo.count; i++) takeChecked(one, place);
  }
  return undefined;
}

async function run(steps: readonly Step[]): Promise<void> {
  await using exporter = startExporter(api.state);
  const peers = places.map(({ peerName, partition: of }) => startPeer(exporter, peerName, of));
  const writes: Promise<unknown>[] = [];
  for (const todo of steps) {
    const writing = act(todo, peers, exporter);
    if (writing !== undefined) writes.push(writing);
    // Some writes share a batch, others are committed one by one.
    if (writes.length % 4 !== 0) await Promise.all(writes);
  }
  await Promise.all(writes);
  // The job that deletes rows of removed nodes may still be running.
  await until('orphaned rows are deleted', () => !api.state.snapshot.mayHaveOrphans);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  for (const [i, one] of peers.entries()) {
    const place = places[i] as Place;
    while (one.pending.length > 0) takeChecked(one, place);
    assert.deepEqual(one.services, allowed(place), JSON.stringify(place));
    one.close();
  }
  assert.doesNotMatch(exporter.log(), /"level":"error"/);
  await api.state.write((tx) => {
    for (const { row } of tx.all(catalogNodes)) tx.delete(catalogNodes, row.uid);
    for (const { row } of tx.all(configEntries)) tx.delete(configEntries, configEntries.key(row));
  });
}

test('a peer receives only exported services, and at the end all of them [STREAM-60] [SVC-75]', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), run), {
    numRuns: 200,
  });
});
