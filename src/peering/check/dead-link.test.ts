import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { generated, opened, present } from '../../../test/support/peering/peering.ts';
import { isActive, type PeeringSide, startSide } from '../../../test/support/peering/peering-side.ts';
import { newPeering, peerings } from '../record/record.ts';
import { links } from '../record/secrets.ts';

const WORKS = ['dns passed', 'tcp passed', 'tls passed', 'server-name passed', 'grpc passed', 'version passed'];

describe('the check of a peering whose link is dead, though the network works', { timeout: 60_000 }, () => {
  let west: PeeringSide;
  let east: PeeringSide;
  before(async () => {
    [west, east] = await Promise.all([startSide(), startSide()]);
  });
  after(() => Promise.all([west, east].map((side) => side?.[Symbol.asyncDispose]())));

  /** What `east` has of a peering with `west`, which has another past by now: it was restored from a backup. */
  async function leave(name: string, peerId: string, secret: string | undefined): Promise<void> {
    const { identity } = west.running.service;
    const peer = { id: peerId, serverName: identity.serverName, addresses: [west.running.address], manual: false };
    const row = newPeering({ id: randomUUID(), name, partition: 'default', role: 'dialing', meta: {}, peer });
    const roots = identity.roots(west.api.state.snapshot);
    await east.api.state.write((tx) => {
      tx.put(peerings, row);
      if (secret !== undefined) tx.put(links, { peeringId: row.id, secret: { clear: secret }, roots, trustDomain: '' });
    });
  }

  const untilReason = (name: string, words: RegExp): Promise<unknown> =>
    east.untilRecord(name, ({ Failing }) => words.test(Failing?.Reason ?? ''));

  /** A new token is what every finding asks for. */
  async function mend(name: string): Promise<void> {
    assert.equal((await present(east.api, name, await generated(west.api, name))).status, 200);
    await east.untilRecord(name, isActive);
    assert.deepEqual((await east.checked(name)).slice(0, 2), ['role passed', 'stream passed']);
  }

  test('says that the other cluster does not take the secret', async () => {
    await leave('secret', opened(await generated(west.api, 'secret')).PeerID, randomUUID());
    await untilReason('secret', /: PermissionDenied: invalid peering stream secret$/);
    assert.deepEqual((await east.checked('secret')).slice(0, 8), [
      'role passed',
      'stream stream-secret-refused',
      ...WORKS,
    ]);
    await mend('secret');
  });

  test('says that the other cluster does not know the peering', async () => {
    await leave('unknown', randomUUID(), randomUUID());
    await untilReason('unknown', /: InvalidArgument: unknown peering ID$/);
    assert.deepEqual((await east.checked('unknown')).slice(0, 8), [
      'role passed',
      'stream stream-unknown-there',
      ...WORKS,
    ]);
    await mend('unknown');
  });

  test('says that there is no secret here, and so does the record', async () => {
    await leave('missing', randomUUID(), undefined);
    await untilReason('missing', /^its secret was left out of an import: establish it again, with a new token$/);
    assert.deepEqual(await east.checked('missing'), ['role passed', 'stream link-missing']);
    await mend('missing');
  });
});
