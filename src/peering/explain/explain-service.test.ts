import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { got, imported, importFrom, registered } from '../../../test/support/peering/catalog.ts';
import { exporting, written } from '../../../test/support/peering/entries.ts';
import { type Explanation, stopOf } from '../../../test/support/peering/explaining.ts';
import { heldStreams, openStream, type Told } from '../../../test/support/peering/held-streams.ts';
import { generated, seen } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { nameEntry, type Peering, peerings, streamLost } from '../record/record.ts';

let api: Api;
let live: ReturnType<typeof heldStreams>;
beforeEach(async () => {
  live = heldStreams();
  api = await startApi({ live });
  await generated(api, 'east');
});
afterEach(() => api[Symbol.asyncDispose]());

const explain = (service = 'web'): Promise<Explanation & { readonly Server?: string }> =>
  got(api, `/v1/peering/East/explain?service=${service}`);
const open = (told: Told = {}): Promise<void> => openStream(api, live, 'east', { told });
const outgoing = async (service?: string): Promise<string> => stopOf((await explain(service)).Outgoing);
const incoming = async (service?: string): Promise<string> => stopOf((await explain(service)).Incoming);

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

describe('on its way to a peer a service stops where', () => {
  const exported = async (): Promise<void> => {
    await registered(api);
    await written(api, exporting({ '*': ['east'] }));
  };

  test('it is not registered', async () => {
    assert.match(await outgoing(), /^registered failed: no service of this name/);
  });

  test('no line exports it to the peer', async () => {
    await registered(api);
    assert.equal(await outgoing(), 'exported failed: the partition has no exported-services entry');
    await written(api, exporting({ db: ['east'] }));
    assert.equal(await outgoing(), 'exported failed: the exported-services entry has no line for it, and none for *');
    await written(api, exporting({ '*': ['east'], Web: ['west'] }));
    assert.equal(await outgoing(), 'exported failed: Services[1] (Web) decides, and does not name the peer');
    await registered(api, { Service: { Service: 'consul' } });
    assert.match(await outgoing('consul'), /^exported failed: the servers of a cluster themselves/);
  });

  test('the peering is not ACTIVE, with the reason', async () => {
    await exported();
    assert.equal(await outgoing(), 'peering waiting: INITIAL: there was no stream yet');
    await open();
    await lose('the other side hung up');
    assert.equal(await outgoing(), 'peering failed: failing since 2026-01-02T03:04:05.000Z: the other side hung up');
    await api.request('DELETE', '/v1/peering/east');
    assert.match(await outgoing(), /^peering failed: TERMINATED: deleted here at \d{4}-/);
  });

  test('nobody here can tell: where the stream is of another server it does not stop, and that server is named', async () => {
    await exported();
    await openStream(api, live, 'east', { server: 'b' });
    const { Server, Outgoing } = await explain();
    assert.equal(Server, 'b');
    assert.deepEqual([Outgoing.Arrives, Outgoing.StopsAt], [undefined, undefined]);
    const Detail = 'server b holds the stream, and it alone knows: ask it';
    assert.deepEqual(Outgoing.Steps.slice(4), [
      { Step: 'sent', Status: 'unknown', Detail },
      { Step: 'acknowledged', Status: 'unknown', Detail },
    ]);
    // What this server knows itself it says all the same.
    assert.equal(
      await outgoing('nothing'),
      'registered failed: no service of this name is registered in the partition',
    );
  });

  const fates = [
    [{ kind: 'unsent' }, 'sent waiting: what it is now is not sent yet'],
    [{ kind: 'too-large', bytes: 9e6 }, 'sent failed: not sent: 9000000 bytes are more than the 8388608 of a message'],
    [{ kind: 'unanswered' }, 'acknowledged waiting: the peer has not answered yet'],
    [
      { kind: 'refused', refusal: { code: 8, message: 'no room' } },
      'acknowledged failed: the peer has refused it: no room',
    ],
    [{ kind: 'acknowledged' }, 'arrives'],
  ] as const;
  for (const [fate, stop] of fates) {
    test(`the stream says ${fate.kind}`, async () => {
      await exported();
      await open({ fate });
      assert.equal(await outgoing(), stop);
      assert.equal((await explain()).Outgoing.Steps[1]?.Detail, 'Services[0] (*)');
    });
  }
});

describe('on its way from a peer a service stops where', () => {
  const HASH = Buffer.from('as it is there').toString('base64url');
  const taken = { contentHash: HASH, atMs: 0 };

  test('the peering is not ACTIVE, and what was imported is still told', async () => {
    await named('web');
    await importFrom(api, 'east', 'web', [imported('web', 'n1')]);
    const { Incoming } = await explain();
    assert.equal(stopOf(Incoming), 'peering waiting: INITIAL: there was no stream yet');
    const statuses = Incoming.Steps.map(({ Step, Status }) => `${Step} ${Status}`);
    assert.deepEqual(statuses, [
      'peering waiting',
      'stream skipped',
      'listed passed',
      'imported passed',
      'current unknown',
    ]);
  });

  test('the list of the peer does not name it, unless the peer says that it exports it', async () => {
    await open();
    assert.match(await incoming(), /^listed failed: the peer does not export it/);
    await open({ digest: { web: HASH } });
    assert.match(await incoming(), /^listed waiting: the peer exports it/);
  });

  test('it has not come, or cannot', async () => {
    await open({ digest: { web: HASH } });
    await named('WEB');
    assert.match(await incoming(), /^imported waiting: the peer has not sent it yet/);
    await open({ digest: { web: '' } });
    assert.equal(await incoming(), 'imported failed: the peer cannot send it: ask there');
  });

  test('it was refused here, with the reason', async () => {
    await open();
    await named('web');
    await api.state.write((tx) => {
      const peeringId = tx.find(peerings, 'name', nameEntry('default', 'east'))?.row.id ?? '';
      tx.put(importProblems, { peeringId, service: 'web', reason: 'no room', since: '2026-01-02T03:04:05.000Z' });
    });
    assert.equal(await incoming(), 'imported failed: refused here since 2026-01-02T03:04:05.000Z: no room');
  });

  test('it is not what it is there; where nobody can tell, it arrives', async () => {
    await named('web');
    await importFrom(api, 'east', 'web', [imported('web', 'n1')]);
    for (const [stream, detail] of [
      [{ told: { isAccord: false } }, 'the peer is no Accord: it does not tell what it has sent'],
      [{ server: 'b' }, 'only server b can compare, which holds the stream: ask it'],
    ] as const) {
      await openStream(api, live, 'east', stream);
      const { Incoming } = await explain();
      assert.equal(stopOf(Incoming), 'arrives');
      assert.deepEqual(Incoming.Steps[4], { Step: 'current', Status: 'unknown', Detail: detail });
    }
    await open({ digest: { web: HASH } });
    assert.equal(await incoming(), 'current waiting: the peer has sent something else since');
    await open({ digest: { web: HASH }, taken });
    const { Incoming } = await explain();
    assert.equal(stopOf(Incoming), 'arrives');
    assert.equal(Incoming.Steps[3]?.Detail, '1 instance, last sent at 1970-01-01T00:00:00.000Z');
  });
});

test('a service that a token may not read is as one that is not there, and so is a peering', async () => {
  await registered(api);
  const { SecretID: token } = await api.makeToken(['peering:read=east', 'services:read=db']);
  const ask = async (peer: string, service: string) =>
    seen(await api.request('GET', `/v1/peering/${peer}/explain?service=${service}`, { token }));
  assert.equal((await ask('east', 'db'))[0], 200);
  assert.deepEqual(await ask('east', 'web'), await ask('east', 'nothing'));
  assert.deepEqual(await ask('west', 'db'), await ask('nobody', 'db'));
  assert.equal((await ask('east', 'web'))[0], 403);
  assert.equal((await ask('west', 'db'))[0], 403);
});

test('a question without a service, or about all, is refused', async () => {
  for (const query of ['', '?service=', '?service=*', '?service=a*']) {
    const { status, text } = await api.request('GET', `/v1/peering/east/explain${query}`);
    assert.deepEqual([status, text.includes('service')], [400, true]);
  }
  assert.equal((await api.request('GET', '/v1/peering/nobody/explain?service=web')).status, 404);
});
