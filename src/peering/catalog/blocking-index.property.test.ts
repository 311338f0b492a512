/**
 * Property test of the index of blocking queries. When a response changes, its index must be higher than every index
 * reported before, because otherwise a client would miss the change.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  importedInstance,
  importFrom,
  mustRegisterWithAgent,
  requestDeregister,
  requestRegister,
} from '../../../test/support/peering/catalog-requests.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { createRandom } from '../../../test/support/random.ts';
import type { Credentials, RequestContext } from '../../credentials/caller.ts';
import type { Evaluate, ReadResult } from '../../http/blocking/blocking-query.ts';
import { JsonText } from '../../http/v1/json-answer.ts';
import { runAtOnce } from '../../state/clock/slices.ts';
import { nameEntry, peerings } from '../record/record.ts';
import { listNodes, listServiceInstances, listServices, readNode } from './api/read-catalog.ts';
import { listChecks, readNodeHealth, readServiceHealth } from './api/read-health.ts';

const ASKED: RequestContext = {
  secretHash: undefined,
  partitions: { query: undefined, header: undefined },
  address: '',
  requestId: '',
  connection: { destroyed: false },
  bodyBytes: 0,
};
const HERE = {
  ...{ peer: undefined, nodeMeta: [], filter: undefined },
  ...{ tags: [], passing: false, failover: undefined },
};

/** Reads that together cover everything that the steps can change. */
const readsOf = (credentials: Credentials): readonly Evaluate[] => [
  readServiceHealth(credentials, ASKED, HERE, 's1'),
  readServiceHealth(credentials, ASKED, { ...HERE, passing: true }, 's2'),
  readServiceHealth(credentials, ASKED, { ...HERE, failover: ['east'] }, 's1'),
  readServiceHealth(credentials, ASKED, { ...HERE, peer: 'east' }, 's1'),
  listServiceInstances(credentials, ASKED, HERE, 's1'),
  listServices(credentials, ASKED, HERE),
  listServices(credentials, ASKED, { ...HERE, peer: 'east' }),
  listNodes(credentials, ASKED, HERE),
  listChecks(credentials, ASKED, HERE, 'critical'),
  readNode(credentials, ASKED, HERE, 'n1'),
  readNodeHealth(credentials, ASKED, HERE, 'n1'),
];

const STEPS = 400;

type Random = ReturnType<typeof createRandom>;

async function step(api: Api, random: Random): Promise<void> {
  const one = (...names: readonly string[]): string => names[random.below(names.length)] ?? '';
  const Node = one('n1', 'n2', 'n3');
  const service = one('s1', 's2');
  const Status = one('passing', 'warning', 'critical');
  switch (random.below(10)) {
    case 0:
      await requestDeregister(api, { Node });
      return;
    case 1:
      await requestDeregister(api, { Node, ServiceID: service });
      return;
    case 2:
      await requestDeregister(api, { Node, CheckID: one('n', 's') });
      return;
    case 3:
      await requestRegister(api, { Node, Address: `10.0.0.${random.below(3)}`, Service: undefined });
      return;
    case 4:
      await requestRegister(api, { Node, Service: undefined, Check: { Name: 'n', Status } });
      return;
    case 5:
      await mustRegisterWithAgent(api, { Name: service, Port: random.below(3), Check: { TTL: '1h', Status } });
      return;
    case 6:
      await importFrom(api, 'east', service, random.below(3) === 0 ? [] : [importedInstance(service, 'e1', Status)]);
      return;
    case 7:
      await deleteOrRecreatePeering(api);
      return;
    default:
      await requestRegister(api, {
        Node,
        Service: { ID: one('s1', 's2'), Service: service },
        ...(random.below(2) === 0 ? {} : { Check: { Name: 's', Status, ServiceID: service } }),
      });
  }
}

/** Deletes the peering. If it is already deleted, removes its row as the background job would, and creates it again. */
async function deleteOrRecreatePeering(api: Api): Promise<void> {
  const existing = api.state.snapshot.find(peerings, 'name', nameEntry('default', 'east'))?.row;
  if (existing?.state !== 'TERMINATED') {
    await api.request('DELETE', '/v1/peering/east');
    return;
  }
  await api.state.write((tx) => tx.delete(peerings, existing.id));
  await mustGenerate(api, 'east');
}

const list = (watched: ReadResult['watched']) => ('topic' in watched ? [watched] : watched);
const textOf = ({ body, longBody }: ReadResult): string => {
  if (longBody !== undefined) return runAtOnce(longBody()).json.text;
  const value = body?.();
  return value instanceof JsonText ? value.text : JSON.stringify(value);
};

for (const seed of [1, 2, 3]) {
  test(`a changed response has a higher index than any reported before (seed ${seed})`, async () => {
    await using api = await startApi({ policy: { enabled: false } });
    await mustGenerate(api, 'east');
    const random = createRandom(seed);
    const reads = readsOf(api.peering.credentials).map((evaluate) => ({ evaluate, text: '', reported: 0 }));
    let changes = 0;
    for (let i = 0; i < STEPS; i++) {
      await step(api, random);
      for (const [which, read] of reads.entries()) {
        const result = read.evaluate(api.state.snapshot);
        const text = textOf(result);
        const index = Math.max(1, ...list(result.watched).map((watched) => watched.index));
        if (text !== read.text) {
          assert.ok(index > read.reported, `read ${which}, step ${i}: ${index} is not above ${read.reported}`);
          changes += 1;
        }
        read.text = text;
        read.reported = Math.max(1, ...list(result.watched).map((watched) => watched.reportedIndex));
      }
    }
    assert.ok(changes > STEPS, `only ${changes} changes`);
  });
}
