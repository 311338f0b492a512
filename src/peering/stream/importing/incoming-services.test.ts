import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { importedInstance, mustGet } from '../../../../test/support/peering/catalog-requests.ts';
import { mustGenerate } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { until } from '../../../../test/support/until.ts';
import { partitions } from '../../../credentials/partition.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { StateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import { importProblems } from '../../catalog/tables/import-problem.ts';
import { importedServices } from '../../catalog/tables/imported-service.ts';
import type { Instance } from '../../catalog/tables/instance.ts';
import { encodeInstances } from '../../export/instance-to-wire.ts';
import { IMPORT_BYTES_BURST, IMPORT_BYTES_PER_SECOND, IMPORT_PROBLEMS_MAX } from '../../limits.ts';
import { peerings, streamOpened } from '../../record/record.ts';
import { ApplyRefused, type IncomingResources, SessionSuperseded } from '../contract.ts';
import { FOUND_AT_ONCE_MAX, FOUND_DELAY_MS } from '../limits.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';
import { ExportedServiceListSchema, ExportedServiceSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { CheckServiceNodeSchema } from '../wire/gen/peering/service_pb.ts';
import { decodeResource } from '../wire/messages.ts';
import { createDeliveryRecorder } from './delivery-recorder.ts';
import { fencedWrites } from './fenced-writes.ts';
import { createImportBudgets } from './import-budgets.ts';
import type { Amount } from './import-usage.ts';
import { incomingResources } from './incoming-resources.ts';
import { type IncomingServices, incomingServices } from './incoming-services.ts';

let api: Api;
let peeringId: string;
let incoming: ReturnType<typeof incomingResources>;
beforeEach(async () => {
  api = await startApi();
  incoming = await open('east');
});
afterEach(() => api[Symbol.asyncDispose]());

const budgets = createImportBudgets(systemClock, () => true);
const identity = { trustDomain: 'here.accord' };

/** Opens the current stream of a new peering. */
async function open(name: string, state: State = api.state): Promise<ReturnType<typeof incomingResources>> {
  await mustGenerate(api, name);
  const epoch = await api.state.write((tx) => {
    const stored = tx.find(peerings, 'name', `default/${name}`);
    const row = stored && streamOpened(stored.row, { node: 'a', incarnation: '1' });
    assert.ok(row);
    tx.put(peerings, row);
    peeringId = row.id;
    return row.epoch;
  });
  return incomingResources({ state, clock: systemClock, budgets, identity }, peeringId, Promise.resolve(epoch));
}

const { signal } = new AbortController();

function bring(kind: 'list' | 'service', id: string, content: Uint8Array, to = incoming): Promise<void> {
  return to.apply(decodeResource({ key: { kind, id }, content }), false, signal, content);
}

const service = (name: string, ...instances: readonly Instance[]): Promise<void> =>
  bring('service', name, encodeInstances(instances));

const list = (...Services: string[]): Promise<void> =>
  bring('list', 'list', toBinary(ExportedServiceListSchema, create(ExportedServiceListSchema, { Services })));

/** Returns a service with an instance that has no service. */
const invalidService = (): Uint8Array =>
  toBinary(ExportedServiceSchema, create(ExportedServiceSchema, { Nodes: [create(CheckServiceNodeSchema)] }));

const names = (): string =>
  api.state.snapshot
    .all(importedServices)
    .map(({ row }) => row.service)
    .join();
const shown = (name = 'east'): Promise<readonly object[]> => mustGet(api, `/v1/peering/${name}/imported-services`);

interface Explained {
  readonly Incoming: { readonly Steps: readonly { readonly Step: string; readonly Detail?: string }[] };
}
const explained = (service: string): Promise<Explained> => mustGet(api, `/v1/peering/east/explain?service=${service}`);

/** Returns the receiver with other limits. */
function withLimits(most: Amount): IncomingServices {
  const epoch = api.state.snapshot.get(peerings, peeringId)?.row.epoch ?? 0;
  const { state } = api;
  const budget = budgets.of(peeringId);
  const writes = fencedWrites({ state, clock: systemClock, budget }, peeringId, Promise.resolve(epoch));
  const recorder = createDeliveryRecorder(systemClock);
  return incomingServices({ state, clock: systemClock, writes, recorder, budget }, peeringId, most);
}

async function refusal(applied: Promise<void>): Promise<ApplyRefused> {
  const error: unknown = await applied.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApplyRefused, String(error));
  return error;
}

test('services of a peer count toward the quota of the peering’s partition, and removals fit [STREAM-102]', async () => {
  await api[Symbol.asyncDispose]();
  api = await startApi({ limits: { rowsPerPartition: 20 } });
  incoming = await open('east');
  const counted = (): number => api.state.snapshot.rowCounts.get(partitions, 'default');
  const before = counted();
  await service('s0', importedInstance('s0', 'n1'));
  const perService = counted() - before;
  assert.ok(perService > 0);
  for (let i = 1; counted() + perService <= 20; i++) await service(`s${i}`, importedInstance(`s${i}`, 'n1'));
  const stored = names();
  const refused = await refusal(service('more', importedInstance('more', 'n1')));
  assert.equal(refused.code, Code.ResourceExhausted);
  assert.match(refused.message, /^partition "default" would have \d+ rows, and limits\.rows-per-partition is 20: /);
  const grown = Array.from({ length: 40 }, (_, i) => importedInstance('s0', `n${i}`));
  assert.equal((await refusal(service('s0', ...grown))).code, Code.ResourceExhausted);
  const long = Array.from({ length: 40 }, (_, i) => `service-with-a-long-name-${'x'.repeat(30)}-${i}`);
  assert.equal((await refusal(list(...long))).code, Code.ResourceExhausted);
  assert.equal(names(), stored);
  const { SecretID: writer } = await api.makeToken(['services:write']);
  const body = { Node: 'n', Address: '10.0.0.1' };
  assert.equal((await api.request('PUT', '/v1/catalog/register', { body, token: writer })).status, 422);
  await list('s0');
  assert.equal(names(), 's0');
  assert.equal((await api.request('PUT', '/v1/catalog/register', { body, token: writer })).status, 200);
});

describe('incoming services', () => {
  test('share commits when they arrive in parallel', async () => {
    const before = api.state.snapshot.index;
    await Promise.all(Array.from({ length: 16 }, (_, i) => service(`s${i}`, importedInstance(`s${i}`, 'n1'))));
    // One commit, or a few on a busy machine, on which a batch is cut at its time limit.
    const commits = api.state.snapshot.index - before;
    assert.ok(commits <= 4, `${commits} commits`);
    assert.equal(api.state.snapshot.all(importedServices).length, 16);
  });

  test('write nothing when they are unchanged [STREAM-56]', async () => {
    const one = importedInstance('web', 'n1');
    await list('web');
    await service('web', one);
    const before = api.state.snapshot.index;
    await list('web');
    await service('web', one);
    assert.equal(api.state.snapshot.index, before);
    // The same instances in another order.
    const two = importedInstance('web', 'n2');
    await service('web', one, two);
    const then = api.state.snapshot.index;
    await service('web', two, one);
    assert.equal(api.state.snapshot.index, then);
  });

  test('remain until they are replaced or missing from a list [STREAM-57]', async () => {
    for (const name of ['Web', 'db', 'api']) await service(name, importedInstance(name, 'n1'));
    await list('API', 'web');
    assert.equal(names(), 'api,Web');
    await service('web', importedInstance('web', 'n2'));
    assert.equal(names(), 'api,web');
    await service('web');
    assert.equal(names(), 'api');
  });

  test('leave no trace in memory or state when they are in no list and empty [STREAM-97]', async () => {
    await list('listed');
    const before = api.state.snapshot.index;
    for (let i = 0; i < 1_000; i += 1) await service(`unlisted-${i}`);
    await service('listed');
    assert.equal(api.state.snapshot.index, before);
    assert.equal(incoming.delivery.applied('unlisted-0'), undefined);
    assert.ok(incoming.delivery.applied('listed') !== undefined);
    // A service that arrives before its list is kept until then.
    await service('early', importedInstance('early', 'n1'));
    assert.ok(incoming.delivery.applied('early') !== undefined);
    await service('early');
    assert.equal(incoming.delivery.applied('early'), undefined);
  });

  test('are refused with a reserved name, which a list may contain [STREAM-98]', async () => {
    await list('web', 'Consul', 'accord');
    for (const name of ['consul', 'Accord']) {
      const { message } = await refusal(service(name, importedInstance(name, 'n1')));
      assert.match(message, /is not imported: every cluster has a service of its own with this name$/);
    }
    assert.equal(names(), '');
    assert.deepEqual(api.state.snapshot.get(peerings, peeringId)?.row.imported, ['web']);
  });

  test('are in ImportedServices while they can be found [PEER-104]', async () => {
    const found = async (): Promise<unknown> =>
      (await mustGet<{ StreamStatus: { ImportedServices: unknown } }>(api, '/v1/peering/east')).StreamStatus
        .ImportedServices;
    await service('early', importedInstance('early', 'n1'));
    await list('early', 'empty', 'refused', 'web');
    assert.deepEqual(await found(), ['early']);
    await service('web', importedInstance('web', 'n1'));
    await service('empty');
    await refusal(bring('service', 'refused', invalidService()));
    assert.deepEqual(await found(), ['early', 'web']);
    const { length } = await mustGet<readonly object[]>(api, '/v1/imported-services');
    assert.equal(length, 2);
    await service('early');
    assert.deepEqual(await found(), ['web']);
    await list('empty');
    assert.equal(await found(), null);
  });

  test('of a long list are found after FOUND_DELAY_MS, together [PEER-104]', async () => {
    const clock = createFakeClock();
    const long = Array.from({ length: FOUND_AT_ONCE_MAX + 1 }, (_, i) => `s${i}`);
    await list(...long);
    const row = () => api.state.snapshot.get(peerings, peeringId)?.row;
    const parts = { state: api.state, clock, budgets, identity };
    const later = incomingResources(parts, peeringId, Promise.resolve(row()?.epoch ?? 0));
    for (const name of ['s1', 's2']) {
      await bring('service', name, encodeInstances([importedInstance(name, 'n1')]), later);
    }
    assert.deepEqual(row()?.found, []);
    clock.advance(FOUND_DELAY_MS);
    await until('both are found', () => row()?.found?.length === 2);
    assert.deepEqual(row()?.found, ['s1', 's2']);
  });

  test('that change over and over are written at the rate of the peer [STREAM-96]', async () => {
    const clock = createFakeClock();
    const limited = { state: api.state, clock, budgets: createImportBudgets(clock, () => true), identity };
    const epoch = api.state.snapshot.get(peerings, peeringId)?.row.epoch ?? 0;
    const churning = incomingResources(limited, peeringId, Promise.resolve(epoch));
    await limited.budgets.of(peeringId).spend(IMPORT_BYTES_BURST + IMPORT_BYTES_PER_SECOND, signal);
    const change = bring('service', 'web', encodeInstances([importedInstance('web', 'n1')]), churning);
    await until('the write waits', () => clock.timerCount === 1);
    assert.equal(names(), '');
    clock.advance(1_000);
    await change;
    assert.equal(names(), 'web');
  });

  test('are separate for two peers, also with equal names [SVC-79]', async () => {
    await service('web', importedInstance('web', 'east-node'));
    const east = peeringId;
    const other = await open('west');
    await bring('service', 'web', encodeInstances([importedInstance('web', 'west-node')]), other);
    const nodes = (id: string) =>
      api.state.snapshot.list(importedServices, 'peering', id).map(({ row }) => row.instances[0]?.node.name);
    assert.deepEqual([nodes(east), nodes(peeringId)], [['east-node'], ['west-node']]);
    await bring('list', 'list', new Uint8Array(), other);
    assert.deepEqual([nodes(east), nodes(peeringId)], [['east-node'], []]);
  });

  test('change nothing on a replaced stream, and throw also when they are unchanged [PEER-76]', async () => {
    await service('web', importedInstance('web', 'n1'));
    await api.state.write((tx) => {
      const stored = tx.get(peerings, peeringId);
      const next = stored && streamOpened(stored.row, { node: 'b', incarnation: '2' });
      assert.ok(next);
      tx.put(peerings, next);
    });
    await assert.rejects(service('web', importedInstance('web', 'n1')), SessionSuperseded);
    await assert.rejects(service('web', importedInstance('web', 'n2')), SessionSuperseded);
    await assert.rejects(list(), SessionSuperseded);
  });
});

describe('a refused service', () => {
  test('is counted, whatever is wrong with it [STREAM-67]', async () => {
    await refusal(bring('service', 'web', invalidService()));
    await refusal(service('consul', importedInstance('consul', 'n1')));
    await refusal(service('a\u0000b', importedInstance('a\u0000b', 'n1')));
    await incoming.undecodable({ kind: 'service', id: 'web' }, 'cannot be decoded', signal);
    await incoming.undecodable({ kind: 'service', id: 'a\u0000b' }, 'cannot be decoded', signal);
    assert.equal(budgets.byPeering.get(peeringId)?.refused, 5);
  });

  test('is marked and keeps its previous version until it is accepted [STREAM-67] [SVC-82] [STREAM-64]', async () => {
    await list('db', 'web');
    await service('web', importedInstance('web', 'n1'));
    const { code, message } = await refusal(bring('service', 'web', invalidService()));
    assert.equal(code, Code.InvalidArgument);
    const [db, web] = (await shown()) as readonly [object, { readonly Refused: { readonly Since: string } }];
    assert.deepEqual(db, { Service: 'db', Instances: 0 });
    assert.deepEqual(web, {
      Service: 'web',
      Instances: 1,
      Refused: { Reason: message, Since: web.Refused.Since },
    });
    await service('db', importedInstance('db', 'n1'));
    await service('web', importedInstance('web', 'n1'));
    assert.deepEqual(await shown(), [
      { Service: 'db', Instances: 1 },
      { Service: 'web', Instances: 1 },
    ]);
  });

  test('loses its mark when a list omits it', async () => {
    await refusal(bring('service', 'web', invalidService()));
    assert.equal(api.state.snapshot.count(importProblems), 1);
    await list('db');
    assert.equal(api.state.snapshot.count(importProblems), 0);
  });

  test('is marked when it cannot be decoded and its name is valid', async () => {
    await incoming.undecodable({ kind: 'service', id: 'web' }, 'it has too many parts', signal);
    await incoming.undecodable({ kind: 'service', id: 'a\0b' }, 'it has too many parts', signal);
    await incoming.undecodable({ kind: 'list', id: 'list' }, 'it has too many parts', signal);
    const [web, ...others] = (await shown()) as readonly { Service: string; Refused: { Reason: string } }[];
    assert.deepEqual([web?.Service, web?.Refused.Reason, others], ['web', 'it has too many parts', []]);
    const { Incoming } = await explained('web');
    const step = Incoming.Steps.find(({ Step }) => Step === 'imported');
    assert.match(step?.Detail ?? '', /^rejected here since .*: it has too many parts$/);
    await service('web', importedInstance('web', 'n1'));
    assert.equal(api.state.snapshot.count(importProblems), 0);
  });

  test('names the exceeded limit, and other services are accepted [SVC-83] [STREAM-66]', async () => {
    const narrow = withLimits({ services: 2, instances: 3, bytes: 1024 * 1024 });
    const bringTo = (name: string, ...nodes: readonly string[]): Promise<void> => {
      const content = encodeInstances(nodes.map((node) => importedInstance(name, node)));
      const resource = decodeResource({ key: { kind: 'service', id: name }, content });
      assert.ok(resource.kind === 'service');
      return narrow.service({ name, message: resource.message, encoded: content }, signal);
    };
    await bringTo('a', 'n1');
    const instances = await refusal(bringTo('b', 'n1', 'n2', 'n3'));
    assert.deepEqual(
      [instances.code, instances.message.split(':')[0]],
      [Code.ResourceExhausted, 'limit imported-instances'],
    );
    await bringTo('b', 'n1', 'n2');
    assert.match((await refusal(bringTo('c', 'n1'))).message, /^limit imported-services: at most 2 /);
    assert.deepEqual(
      (await shown()).map((one) => Object.keys(one)),
      [
        ['Service', 'Instances'],
        ['Service', 'Instances'],
        ['Service', 'Instances', 'Refused'],
      ],
    );
    // Services that the list omits do not count.
    const remaining = create(ExportedServiceListSchema, { Services: ['b', 'c'] });
    await narrow.list(remaining, signal);
    await bringTo('c', 'n1');
    assert.equal(names(), 'b,c');
    assert.equal(api.state.snapshot.count(importProblems), 0);
  });

  test('is marked once for the same reason', async () => {
    await refusal(bring('service', 'web', invalidService()));
    const before = api.state.snapshot.index;
    await refusal(bring('service', 'web', invalidService()));
    assert.equal(api.state.snapshot.index, before);
  });

  test('is not marked when IMPORT_PROBLEMS_MAX services are marked [STREAM-67]', async () => {
    const one = { reason: 'x', since: new Date(0).toISOString() };
    await api.state.write((tx) => {
      for (let i = 0; i < IMPORT_PROBLEMS_MAX; i++) tx.put(importProblems, { peeringId, service: `s${i}`, ...one });
    });
    await refusal(bring('service', 'web', invalidService()));
    assert.equal(api.state.snapshot.count(importProblems), IMPORT_PROBLEMS_MAX);
  });

  test('has the reason of a store that rejects its size', async () => {
    const message = 'the write is larger than a commit: raise --max-request-bytes';
    const narrow = await open('north', storeThatRefuses(new StateError('too-large', message), /"big"/));
    const big = encodeInstances([importedInstance('big', 'n1')]);
    const refused = await refusal(bring('service', 'big', big, narrow));
    assert.deepEqual([refused.code, refused.message], [Code.ResourceExhausted, message]);
    await bring('service', 'web', encodeInstances([importedInstance('web', 'n1')]), narrow);
    assert.deepEqual(
      (await shown('north')).map((one) => Object.keys(one)),
      [
        ['Service', 'Instances', 'Refused'],
        ['Service', 'Instances'],
      ],
    );
  });
});

test('a service is applied after the store was unavailable [STREAM-55]', async () => {
  let failures = 2;
  const failing = new Proxy(api.state, {
    get(state, property) {
      if (property !== 'write') return Reflect.get(state, property, state) as unknown;
      return (...args: Parameters<State['write']>) => {
        if (failures-- > 0) return Promise.reject(new StateError('unavailable', 'the store does not answer'));
        return state.write(...args);
      };
    },
  });
  const retrying = await open('south', failing);
  await bring('service', 'web', encodeInstances([importedInstance('web', 'n1')]), retrying);
  assert.equal(names(), 'web');
  assert.equal(failures, -1);
});

/** Returns the state with `error` for writes of rows whose JSON matches `pattern`. */
function storeThatRefuses(error: StateError, pattern: RegExp): State {
  return new Proxy(api.state, {
    get(state, property) {
      if (property !== 'write') return Reflect.get(state, property, state) as unknown;
      return (fn: Parameters<State['write']>[0]) =>
        state.write((tx) => {
          const put: typeof tx.put = (table, row) => {
            if (table.name === importedServices.name && pattern.test(JSON.stringify(row))) throw error;
            return tx.put(table, row);
          };
          return fn({ ...tx, now: tx.now, index: tx.index, put });
        });
    },
  });
}

describe('an incoming digest', () => {
  const bringDigest = (to: IncomingResources, ...names: string[]): Promise<void> => {
    const services = names.map((name) => ({ name, hash: Buffer.from(name) }));
    const content = toBinary(ExportDigestSchema, create(ExportDigestSchema, { services }));
    return to.apply(decodeResource({ key: { kind: 'digest', id: 'digest' }, content }), false, signal, content);
  };

  test('is recorded with its order among the applied resources, and replaced by the next one', async () => {
    const { delivery } = incoming;
    assert.deepEqual(
      [delivery.digest(), delivery.applied('web'), delivery.listOrder],
      [undefined, undefined, undefined],
    );
    await service('Web', importedInstance('web', 'n1'));
    await bringDigest(incoming, 'web');
    await service('db', importedInstance('db', 'n1'));
    await list('db');
    const received = delivery.digest();
    assert.deepEqual(
      received?.digest.services.map(({ name, hash }) => [name, Buffer.from(hash).toString()]),
      [['web', 'web']],
    );
    assert.deepEqual([received?.order, delivery.applied('DB')?.order, delivery.listOrder], [2, 3, 4]);
    assert.equal(delivery.applied('web'), undefined);
    await bringDigest(incoming, 'db');
    assert.equal(delivery.digest()?.digest.services[0]?.name, 'db');
  });

  test('is refused when it contains an invalid name', async () => {
    const { code } = await refusal(bringDigest(incoming, 'a\nb'));
    assert.deepEqual([code, incoming.delivery.digest()], [Code.InvalidArgument, undefined]);
  });

  test('is not recorded on a replaced stream', async () => {
    await api.state.write((tx) => {
      const stored = tx.get(peerings, peeringId);
      const next = stored && streamOpened(stored.row, { node: 'b', incarnation: '2' });
      assert.ok(next);
      tx.put(peerings, next);
    });
    await assert.rejects(bringDigest(incoming, 'web'), SessionSuperseded);
    assert.equal(incoming.delivery.digest(), undefined);
  });
});
