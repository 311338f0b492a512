/** Confidentiality of peering secrets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeContent,
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  requestToken,
  tokenContent,
} from '../../test/support/peering/peering-requests.ts';
import { startApi } from '../../test/support/process/api.ts';
import { dataKeyCipher } from '../state/transfer/encryption.ts';
import { links, streamSecretContext } from './record/secrets.ts';

interface Entry {
  readonly Action: string;
  readonly Type: string;
  readonly Subject: string;
  readonly Partition: string;
  readonly Before: unknown;
  readonly After: unknown;
}

test('writes no secret to the log, the audit log, a response or an export', async () => {
  for (const dataKey of [undefined, dataKeyCipher(Buffer.alloc(32, 7))]) {
    await using api = await startApi(dataKey === undefined ? {} : { dataKey });
    await using other = await startApi();
    const token = await mustGenerate(api, 'east', { Meta: { note: 'private-meta' } });
    const secrets = [token, tokenContent(token).EstablishmentSecret];
    await mustPeer(other, 'x', api, 'west');
    const { ID } = await mustReadRecord(api, 'west');
    const link = api.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    assert.equal('sealed' in link.secret, dataKey !== undefined);
    secrets.push(api.peering.secrets.decrypt(link.secret, streamSecretContext(ID)));
    const refused = encodeContent({ ...tokenContent(token), CA: ['x'] });
    secrets.push(refused);
    await requestEstablish(api, 'more', refused);
    await requestEstablish(other, 'y', token);
    await requestEstablish(other, 'y', token);
    await requestToken(api, 'east', { PeeringToken: token });
    await api.request('POST', '/v1/peering/establish', { body: `{"PeeringToken":"${token}"` });
    await api.request('DELETE', '/v1/peering/west');
    const responses = await Promise.all(
      ['/v1/audit', '/v1/operator/export', '/v1/peerings', '/v1/peering/east', '/v1/peering/east/token'].map((path) =>
        api.request('GET', path),
      ),
    );
    const texts = [api.log(), other.log(), ...responses.map(({ text }) => text)];
    for (const secret of secrets) for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 200));
    for (const log of [api.log(), other.log()]) assert.ok(!log.includes('private-meta'));
  }
});

test('audits every change with the record before and after [ACL-65]', async () => {
  await using api = await startApi();
  await using other = await startApi();
  await api.makePartitions('eu');
  const query = '?partition=eu';
  const listed = async (name: string): Promise<unknown> => ({
    ...(await mustReadRecord(api, name, query)),
    Partition: 'eu',
  });
  await requestEstablish(other, 'x', await mustGenerate(api, 'east', { Partition: 'eu' }));
  const first = await listed('east');
  await mustGenerate(api, 'EAST', { Partition: 'eu', Meta: { a: '1' } });
  const second = await listed('east');
  await api.request('DELETE', `/v1/peering/east/token${query}`);
  await api.request('DELETE', `/v1/peering/east${query}`);
  const third = await listed('east');
  await requestEstablish(api, 'west', await mustGenerate(other, 'y'), { Partition: 'eu' });
  const dialing = await listed('west');
  const entries = (await api.request('GET', '/v1/audit')).json<Entry[]>().filter(({ Type }) => Type === 'peering');
  assert.deepEqual(
    entries
      .toReversed()
      .map(({ Action, Subject, Partition, Before, After }) => [Action, Subject, Partition, Before, After]),
    [
      ['generate-token', 'east', 'eu', null, first],
      ['exchange-secret', 'east', 'eu', first, first],
      ['generate-token', 'east', 'eu', first, second],
      ['revoke-token', 'east', 'eu', second, second],
      ['delete', 'east', 'eu', second, third],
      ['establish', 'west', 'eu', null, dialing],
    ],
  );
});
