import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  type InProcessCluster,
  isActive,
  startInProcessCluster,
} from '../../../test/support/peering/in-process-cluster.ts';
import { mustGenerate, requestEstablish, tokenContent } from '../../../test/support/peering/peering-requests.ts';
import { newPeering, peerings } from '../record/record.ts';
import { links } from '../record/secrets.ts';

const WORKS = ['dns passed', 'tcp passed', 'tls passed', 'server-name passed', 'grpc passed', 'version passed'];

describe('the check of a peering with an invalid stream secret', { timeout: 60_000 }, () => {
  let west: InProcessCluster;
  let east: InProcessCluster;
  before(async () => {
    [west, east] = await Promise.all([startInProcessCluster(), startInProcessCluster()]);
  });
  after(() => Promise.all([west, east].map((side) => side?.[Symbol.asyncDispose]())));

  /**
   * Writes a dialing peering to `east` whose ID or secret `west` does not have, as after a restore of `west` from an
   * older backup. Without `secret`, the peering is as after an import without secrets.
   */
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

  /** Establishes the peering again with a new token, which is the remedy of every finding in this file. */
  async function establishAgain(name: string): Promise<void> {
    assert.equal((await requestEstablish(east.api, name, await mustGenerate(west.api, name))).status, 200);
    await east.untilRecord(name, isActive);
    assert.deepEqual((await east.checkCodes(name)).slice(0, 2), ['role passed', 'stream passed']);
  }

  test('reports stream-secret-refused when the other cluster rejects the secret [STREAM-10] [STREAM-28]', async () => {
    await leave('secret', tokenContent(await mustGenerate(west.api, 'secret')).PeerID, randomUUID());
    await untilReason('secret', /: PermissionDenied: invalid peering stream secret$/);
    assert.deepEqual((await east.checkCodes('secret')).slice(0, 8), [
      'role passed',
      'stream stream-secret-refused',
      ...WORKS,
    ]);
    await establishAgain('secret');
  });

  test('reports stream-unknown-there when the other cluster does not know the peering', async () => {
    await leave('unknown', randomUUID(), randomUUID());
    await untilReason('unknown', /: InvalidArgument: unknown peering ID$/);
    assert.deepEqual((await east.checkCodes('unknown')).slice(0, 8), [
      'role passed',
      'stream stream-unknown-there',
      ...WORKS,
    ]);
    await establishAgain('unknown');
  });

  test('reports link-missing when this cluster has no secret [PEER-78]', async () => {
    await leave('missing', randomUUID(), undefined);
    await untilReason('missing', /^its secret was left out of an import: establish it again, with a new token$/);
    assert.deepEqual(await east.checkCodes('missing'), ['role passed', 'stream link-missing']);
    await establishAgain('missing');
  });
});
