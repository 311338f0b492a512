import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { importedInstance, importFrom, mustGet, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { exportEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import { describeStop, type Explanation } from '../../../test/support/peering/diagnosis.ts';
import { createStreamMap, type FakeDelivery, openFakeStream } from '../../../test/support/peering/fake-streams.ts';
import { mustGenerate, statusAndText } from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { nameEntry, type Peering, peerings, streamLost } from '../record/record.ts';

let api: Api;
let live: ReturnType<typeof createStreamMap>;
beforeEach(async () => {
  live = createStreamMap();
  api = await startApi({ live });
  await mustGenerate(api, 'east');
});
afterEach(() => api[Symbol.asyncDispose]());

const explain = (service = 'web'): Promise<Explanation & { readonly Server?: string }> =>
  mustGet(api, `/v1/peering/East/explain?service=${service}`);
const open = (delivery: FakeDelivery = {}): Promise<void> => openFakeStream(api, live, 'east', { delivery });
const outgoing = async (service?: string): Promise<string> => describeStop((await explain(service)).Outgoing);
const incoming = async (service?: string): Promise<string> => describeStop((await explain(service)).Incoming);

const change = (with_: (row: Peering) => Peering | undefined): Promise<void> =>
  api.state.write((tx) => {
    const stored = tx.find(peerings, 'name', nameEntry('default', 'east'));
    const row = stored && with_(stored.row as Peering);
    assert.ok(row);
    tx.put(peerings, row);
  });
const lose = (reason: string): Promise<void> =>
  change((row) => streamLost(row, row.epoch, { since: '2026-01-02T03:04:05.000Z', reason }) as Peering | undefined);
const named = (...names: string[]): Promise<void> => change((row) => ({ ...row, imported: names }));

describe('diagnoseExport [SVC-93] [SVC-94]', () => {
  const exported = async (): Promise<void> => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ '*': ['east'] }));
  };

  test('stops at "registered" when the service is not registered', async () => {
    assert.match(await outgoing(), /^registered failed: no service of this name/);
  });

  test('stops at "exported" when no rule exports the service to the peer', async () => {
    await mustRegister(api);
    assert.equal(await outgoing(), 'exported failed: the partition has no exported-services entry');
    await mustWrite(api, exportEntry({ db: ['east'] }));
    assert.equal(await outgoing(), 'exported failed: the exported-services entry has no line for it, and none for *');
    await mustWrite(api, exportEntry({ '*': ['east'], Web: ['west'] }));
    assert.equal(await outgoing(), 'exported failed: Services[1] (Web) decides, and does not name the peer');
    await mustRegister(api, { Service: { Service: 'consul' } });
    assert.match(await outgoing('consul'), /^exported failed: the servers of the cluster are never exported/);
  });

  test('stops at "peering" with the reason when the peering is not ACTIVE', async () => {
    await exported();
    assert.equal(await outgoing(), 'peering waiting: INITIAL: no stream has been opened yet');
    await open();
    await lose('the other side hung up');
    assert.equal(await outgoing(), 'peering failed: failing since 2026-01-02T03:04:05.000Z: the other side hung up');
    await api.request('DELETE', '/v1/peering/east');
    assert.match(await outgoing(), /^peering failed: TERMINATED: deleted here at \d{4}-/);
  });

  test('reports "unknown" and names the server when another server holds the stream [SVC-95]', async () => {
    await exported();
    await openFakeStream(api, live, 'east', { server: 'b' });
    const { Server, Outgoing } = await explain();
    assert.equal(Server, 'b');
    assert.deepEqual([Outgoing.Arrives, Outgoing.StopsAt], [undefined, undefined]);
    const Detail = 'only server b, which holds the stream, knows: send the request there';
    assert.deepEqual(Outgoing.Steps.slice(4), [
      { Step: 'sent', Status: 'unknown', Detail },
      { Step: 'acknowledged', Status: 'unknown', Detail },
    ]);
    // Steps that this server knows are still reported.
    assert.equal(
      await outgoing('nothing'),
      'registered failed: no service of this name is registered in the partition',
    );
  });

  const fates = [
    [{ kind: 'unsent' }, 'sent waiting: the current version has not been sent yet'],
    [
      { kind: 'too-large', bytes: 9e6 },
      'sent failed: not sent: 9000000 bytes exceed the message limit of 8388608 bytes',
    ],
    [{ kind: 'unanswered' }, 'acknowledged waiting: the peer has not acknowledged it yet'],
    [
      { kind: 'refused', refusal: { code: 8, message: 'no room' } },
      'acknowledged failed: rejected by the peer: no room',
    ],
    [{ kind: 'acknowledged' }, 'arrives'],
  ] as const;
  for (const [fate, stop] of fates) {
    test(`reports the delivery status "${fate.kind}"`, async () => {
      await exported();
      await open({ status: fate });
      assert.equal(await outgoing(), stop);
      assert.equal((await explain()).Outgoing.Steps[1]?.Detail, 'Services[0] (*)');
    });
  }
});

describe('diagnoseImport [SVC-93]', () => {
  const HASH = Buffer.from('as it is there').toString('base64url');
  const taken = { contentHash: HASH, atMs: 0 };

  test('stops at "peering" when the peering is not ACTIVE, and still reports the imported service [SVC-94]', async () => {
    await named('web');
    await importFrom(api, 'east', 'web', [importedInstance('web', 'n1')]);
    const { Incoming } = await explain();
    assert.equal(describeStop(Incoming), 'peering waiting: INITIAL: no stream has been opened yet');
    const statuses = Incoming.Steps.map(({ Step, Status }) => `${Step} ${Status}`);
    assert.deepEqual(statuses, [
      'peering waiting',
      'stream skipped',
      'listed passed',
      'imported passed',
      'current unknown',
    ]);
  });

  test('stops at "listed" when the peer does not list the service, unless the digest contains it', async () => {
    await open();
    assert.match(await incoming(), /^listed failed: the peer does not export it/);
    await open({ digest: { web: HASH } });
    assert.match(await incoming(), /^listed waiting: the peer exports it/);
  });

  test('stops at "imported" when the peer has not sent the service, or cannot', async () => {
    await open({ digest: { web: HASH } });
    await named('WEB');
    assert.match(await incoming(), /^imported waiting: the peer has not sent it yet/);
    await open({ digest: { web: '' } });
    assert.equal(await incoming(), 'imported failed: the peer cannot send it: see the diagnosis there');
  });

  test('stops at "imported" with the reason when the service was rejected here', async () => {
    await open();
    await named('web');
    await api.state.write((tx) => {
      const peeringId = tx.find(peerings, 'name', nameEntry('default', 'east'))?.row.id ?? '';
      tx.put(importProblems, { peeringId, service: 'web', reason: 'no room', since: '2026-01-02T03:04:05.000Z' });
    });
    assert.equal(await incoming(), 'imported failed: rejected here since 2026-01-02T03:04:05.000Z: no room');
  });

  test('stops at "current" when the peer has a newer version, and arrives when that is unknown [SVC-95]', async () => {
    await named('web');
    await importFrom(api, 'east', 'web', [importedInstance('web', 'n1')]);
    for (const [stream, detail] of [
      [{ delivery: { isAccord: false } }, 'the peer is not an Accord cluster and sends no digest'],
      [{ server: 'b' }, 'only server b, which holds the stream, can compare: send the request there'],
    ] as const) {
      await openFakeStream(api, live, 'east', stream);
      const { Incoming } = await explain();
      assert.equal(describeStop(Incoming), 'arrives');
      assert.deepEqual(Incoming.Steps[4], { Step: 'current', Status: 'unknown', Detail: detail });
    }
    await open({ digest: { web: HASH } });
    assert.equal(await incoming(), 'current waiting: the peer has sent a newer version');
    await open({ digest: { web: HASH }, applied: taken });
    const { Incoming } = await explain();
    assert.equal(describeStop(Incoming), 'arrives');
    assert.equal(Incoming.Steps[3]?.Detail, '1 instance, last sent at 1970-01-01T00:00:00.000Z');
  });
});

test('returns the same 403 for missing and existing services and peerings that the token may not read', async () => {
  await mustRegister(api);
  const { SecretID: token } = await api.makeToken(['peering:read=east', 'services:read=db']);
  const ask = async (peer: string, service: string) =>
    statusAndText(await api.request('GET', `/v1/peering/${peer}/explain?service=${service}`, { token }));
  assert.equal((await ask('east', 'db'))[0], 200);
  assert.deepEqual(await ask('east', 'web'), await ask('east', 'nothing'));
  assert.deepEqual(await ask('west', 'db'), await ask('nobody', 'db'));
  assert.equal((await ask('east', 'web'))[0], 403);
  assert.equal((await ask('west', 'db'))[0], 403);
});

test('returns 400 without a service or with a wildcard', async () => {
  for (const query of ['', '?service=', '?service=*', '?service=a*']) {
    const { status, text } = await api.request('GET', `/v1/peering/east/explain${query}`);
    assert.deepEqual([status, text.includes('service')], [400, true]);
  }
  assert.equal((await api.request('GET', '/v1/peering/nobody/explain?service=web')).status, 404);
});
