/** Deletion of peerings, and tokens that are rejected. `peering-deletion.long.ts` tests longer outages. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../support/free-port.ts';
import {
  type Cluster,
  isActive,
  isFailing,
  isTerminated,
  peerClusters,
  startCluster,
} from '../support/peering/clusters.ts';
import { deleteWhilePeerDown } from '../support/peering/delete-while-peer-down.ts';
import { editedToken, type TokenEdits, tokenContent } from '../support/peering/peering-requests.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const DOWN_MS = 2_000;
/** The longest wait for the removal of a record, and time for a busy machine. */
const REMOVAL_MS_MAX = 20_000;
const INVALID_SECRET = 'a new peering token must be generated: invalid peering establishment secret';

const started: Cluster[] = [];
async function start(datacenter: string): Promise<Cluster> {
  const cluster = await startCluster({
    settings: { 'cluster.datacenter': datacenter, 'limits.stream-handshake': '3s' },
  });
  started.push(cluster);
  return cluster;
}
let east: Cluster;
let west: Cluster;
let south: Cluster;
before(async () => {
  [east, west, south] = await Promise.all([start('dc1'), start('dc2'), start('dc3')]);
});
after(() => Promise.all(started.map((cluster) => cluster[Symbol.asyncDispose]())));

describe('deleting a peering', { timeout: 180_000 }, () => {
  before(() => peerClusters(east, west, { to: 'west', from: 'east' }));

  for (const deletingSide of ['accepting', 'dialing'] as const) {
    it(`on the ${deletingSide} side terminates the record of a peer that was down [PEER-71]`, () =>
      deleteWhilePeerDown({ accepting: east, dialing: west, deletingSide, downMs: DOWN_MS }));
  }

  it('on both sides at the same time removes both records', async () => {
    const deleted = await Promise.all([
      east.request('DELETE', '/v1/peering/west'),
      west.request('DELETE', '/v1/peering/east'),
    ]);
    assert.deepEqual(
      deleted.map(({ status, text }) => [status, text]),
      [
        [200, ''],
        [200, ''],
      ],
    );
    for (const record of [await east.record('west'), await west.record('east')]) {
      assert.ok(isTerminated(record) && record?.DeletedAt !== undefined, JSON.stringify(record));
    }
    await east.untilRecord('west', (record) => record === undefined);
    await west.untilRecord('east', (record) => record === undefined);
  });

  it('does not affect a new peering with the same name', async () => {
    await peerClusters(east, west, { to: 'west', from: 'east' });
    const before = await west.record('east');
    assert.equal((await west.request('DELETE', '/v1/peering/east')).status, 200);
    await east.untilRecord('west', isTerminated);
    // Both requests wait until the old record is removed [PEER-37].
    const token = await east.generate('west');
    const answer = await west.establish('east', token);
    assert.equal(answer.status, 200, answer.text);
    const after = await west.untilRecord('east', isActive, REMOVAL_MS_MAX);
    await east.untilRecord('west', isActive);
    assert.notEqual(after.ID, before?.ID);
    assert.notEqual(after.PeerID, before?.PeerID);

    assert.equal((await east.request('DELETE', '/v1/peering/west')).status, 200);
    const next = await east.generate('west');
    assert.equal((await west.establish('east', next)).status, 200);
    await west.untilRecord('east', isActive, REMOVAL_MS_MAX);
    assert.equal((await west.record('east'))?.ID, after.ID, 'the side that did not delete keeps its record [PEER-62]');
    await east.untilRecord('west', isActive);
  });

  it('during a network outage allows a new peering, with a second token at most', async () => {
    await using proxy = await startProxy(east.peeringPort);
    const addresses = [`127.0.0.1:${proxy.port}`];
    await peerClusters(east, west, { to: 'cut', from: 'cut', addresses });
    proxy.sever();
    assert.equal((await west.request('DELETE', '/v1/peering/cut')).status, 200);
    await east.untilRecord('cut', isFailing);
    await west.untilRecord('cut', (record) => record === undefined, REMOVAL_MS_MAX);
    // East does not know of the deletion, so the token is for its old record.
    const token = await east.generate('cut', { ServerExternalAddresses: addresses });
    proxy.heal();
    const isUp = async (): Promise<boolean> => isActive(await east.record('cut')) && isActive(await west.record('cut'));
    if ((await west.establish('cut', token)).status === 200)
      await until(
        'ACTIVE on both sides, or TERMINATED',
        async () => (await isUp()) || isTerminated(await east.record('cut')),
        REMOVAL_MS_MAX,
      );
    if (isTerminated(await east.record('cut'))) {
      const again = await west.establish('cut', await east.generate('cut', { ServerExternalAddresses: addresses }));
      assert.equal(again.status, 200, again.text);
    }
    await until('ACTIVE on both sides', isUp, REMOVAL_MS_MAX);
  });
});

describe('establishing with a token', { timeout: 120_000 }, () => {
  /** Establishes as `rejected` with a token of east for `name`, and checks that neither side keeps a change. */
  async function establishRejected(
    cluster: Cluster,
    token: string,
    name = 'north',
  ): Promise<readonly [status: number, text: string]> {
    const before = await east.record(name);
    const answer = await cluster.establish('rejected', token);
    assert.equal(await cluster.record('rejected'), undefined);
    assert.deepEqual(await east.record(name), before);
    return [answer.status, answer.text];
  }

  it('rejects every edited field, leaves no record, and does not use up the token [PEER-49] [PEER-55]', async () => {
    const token = await east.generate('north');
    const foreign = tokenContent(await south.generate('north'));
    const other = tokenContent(await east.generate('other'));
    const own = tokenContent(await west.generate('north-of-here'));
    const closed = `127.0.0.1:${await freePort()}`;
    const cases: readonly (readonly [edited: TokenEdits, status: number, text: string | RegExp])[] = [
      [{ CA: [] }, 400, 'peering token CA value is empty'],
      [{ CA: ['x'] }, 400, /^peering token invalid CA: /],
      [
        { CA: foreign.CA },
        503,
        `${east.peeringAddress}: its certificate is not signed by the cluster that generated the token`,
      ],
      [{ ServerAddresses: [] }, 400, 'peering token server addresses value is empty'],
      [{ ServerAddresses: ['east'] }, 400, 'east is not a valid peering server address'],
      [{ ServerAddresses: [closed] }, 503, `${closed}: connection refused`],
      [
        { ServerAddresses: foreign.ServerAddresses },
        503,
        /: its certificate is not signed by the cluster that generated/,
      ],
      [{ ServerAddresses: own.ServerAddresses }, 503, /: its certificate is not signed by the cluster that generated/],
      [
        { ServerAddresses: [closed, south.peeringAddress] },
        503,
        /^[^\n]*: connection refused\n[^\n]*not signed by[^\n]*$/, // [PEER-58]
      ],
      [{ ManualServerAddresses: [':1'] }, 400, ':1 is not a valid peering server address'],
      [{ ManualServerAddresses: [closed], ServerAddresses: [] }, 503, `${closed}: connection refused`],
      [{ ServerName: '' }, 400, 'peering token server name value is empty'],
      [
        { ServerName: foreign.ServerName },
        400,
        /^peering token remote datacenter "dc1" is not that of the server name /,
      ],
      [
        { ServerName: foreign.ServerName, Remote: foreign.Remote },
        503,
        `${east.peeringAddress}: its certificate is for another server name`,
      ],
      [
        { ServerName: own.ServerName, Remote: own.Remote },
        400,
        /^cannot create a peering within the same cluster "server\.dc2\.peering\./,
      ],
      [{ PeerID: '' }, 400, 'peering token peer ID value is empty'],
      [{ PeerID: 'x' }, 400, 'peering token peer ID value is not a UUID'],
      [{ PeerID: randomUUID() }, 403, INVALID_SECRET],
      [{ PeerID: other.PeerID }, 403, INVALID_SECRET],
      [
        { Remote: { Partition: 'default', Datacenter: 'dc3' } },
        400,
        /^peering token remote datacenter "dc3" is not that of /,
      ],
      [{ EstablishmentSecret: '' }, 400, 'peering token establishment secret value is empty'],
      [{ EstablishmentSecret: randomUUID() }, 403, INVALID_SECRET],
      [{ EstablishmentSecret: other.EstablishmentSecret }, 403, INVALID_SECRET],
    ];
    for (const [edited, status, text] of cases) {
      const answer = await establishRejected(west, editedToken(token, edited));
      assert.equal(answer[0], status, `${JSON.stringify(edited)}: ${answer[1]}`);
      if (typeof text === 'string') assert.equal(answer[1], text);
      else assert.match(answer[1], text);
    }
    const answer = await west.establish('north', token);
    assert.equal(answer.status, 200, answer.text);
    await west.untilRecord('north', isActive);
  });

  it('rejects tokens of this cluster, of a deleted peering, replaced tokens and revoked tokens [PEER-57]', async () => {
    const own = await east.establish('self', await east.generate('self-token'));
    assert.equal(own.status, 400);
    assert.match(own.text, /^cannot create a peering within the same cluster /);
    assert.equal(await east.record('self'), undefined);

    const replaced = await east.generate('gone');
    const revoked = await east.generate('gone');
    assert.deepEqual(await establishRejected(south, replaced, 'gone'), [403, INVALID_SECRET]);
    assert.equal((await east.request('DELETE', '/v1/peering/gone/token')).status, 200);
    assert.deepEqual(await establishRejected(south, revoked, 'gone'), [403, INVALID_SECRET]);
    const deleted = await east.generate('gone');
    assert.equal((await east.request('DELETE', '/v1/peering/gone')).status, 200);
    assert.deepEqual(await establishRejected(south, deleted, 'gone'), [403, INVALID_SECRET]);
    await east.untilRecord('gone', (record) => record === undefined);
    assert.deepEqual(await establishRejected(south, deleted, 'gone'), [403, INVALID_SECRET]);
  });

  it('succeeds for one of two clusters that use it concurrently [PEER-43]', async () => {
    for (const name of ['race-1', 'race-2', 'race-3']) {
      const token = await east.generate(name);
      const rivals = [west, south];
      const answers = await Promise.all(rivals.map((cluster) => cluster.establish(name, token)));
      const statuses = answers.map(({ status }) => status).toSorted();
      assert.deepEqual(statuses, [200, 403], answers.map(({ text }) => text).join());
      for (const [i, { status, text }] of answers.entries()) {
        const rival = rivals[i] as Cluster;
        if (status === 200) await rival.untilRecord(name, isActive);
        else assert.deepEqual([text, await rival.record(name)], [INVALID_SECRET, undefined]);
      }
      await east.untilRecord(name, isActive);
    }
  });

  it('creates one peering when a cluster uses it concurrently [PEER-43]', async () => {
    const token = await east.generate('twice');
    const names = ['twice-a', 'twice-b', 'twice-b'];
    const answers = await Promise.all(names.map((name) => south.establish(name, token)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers.map(({ text }) => text).join());
    for (const { status, text } of answers) {
      if (status === 409) assert.equal(text, 'peering "twice-b" is being established');
      else if (status !== 200) assert.deepEqual([status, text], [403, INVALID_SECRET]);
    }
    const winner = names[answers.findIndex(({ status }) => status === 200)] as string;
    await south.untilRecord(winner, isActive);
    const loser = winner === 'twice-a' ? 'twice-b' : 'twice-a';
    assert.equal(await south.record(loser), undefined);

    // Without `StreamStatus`, whose times advance.
    const stableFields = async (): Promise<unknown> => ({ ...(await south.record(winner)), StreamStatus: undefined });
    const before = await stableFields();
    assert.deepEqual([(await south.establish(winner, token)).text, await stableFields()], [INVALID_SECRET, before]);
  });
});
