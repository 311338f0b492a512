/** Where secrets of peerings must not be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closed, generate, generated, opened, peer, present, record } from '../../test/support/peering/peering.ts';
import { startApi } from '../../test/support/process/api.ts';
import { dataKeySealer } from '../state/transfer/encryption.ts';
import { links, streamSecretPlace } from './record/secrets.ts';

interface Entry {
  readonly Action: string;
  readonly Type: string;
  readonly Subject: string;
  readonly Partition: string;
  readonly Before: unknown;
  readonly After: unknown;
}

test('no secret is in the log, the audit log, an answer or an export in clear', async () => {
  for (const dataKey of [undefined, dataKeySealer(Buffer.alloc(32, 7))]) {
    await using api = await startApi(dataKey === undefined ? {} : { dataKey });
    await using other = await startApi();
    const token = await generated(api, 'east', { Meta: { note: 'private-meta' } });
    const secrets = [token, opened(token).EstablishmentSecret];
    await peer(other, 'x', api, 'west');
    const { ID } = await record(api, 'west');
    const link = api.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    assert.equal('sealed' in link.secret, dataKey !== undefined);
    secrets.push(api.peering.secrets.open(link.secret, streamSecretPlace(ID)));
    const refused = closed({ ...opened(token), CA: ['x'] });
    secrets.push(refused);
    await present(api, 'more', refused);
    await present(other, 'y', token);
    await present(other, 'y', token);
    await generate(api, 'east', { PeeringToken: token });
    await api.request('POST', '/v1/peering/establish', { body: `{"PeeringToken":"${token}"` });
    await api.request('DELETE', '/v1/peering/west');
    const told = await Promise.all(
      ['/v1/audit', '/v1/operator/export', '/v1/peerings', '/v1/peering/east', '/v1/peering/east/token'].map((path) =>
        api.request('GET', path),
      ),
    );
    const texts = [api.log(), other.log(), ...told.map(({ text }) => text)];
    for (const secret of secrets) for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 200));
    for (const log of [api.log(), other.log()]) assert.ok(!log.includes('private-meta'));
  }
});

test('every change is in the audit log, with the record before and after', async () => {
  await using api = await startApi();
  await using other = await startApi();
  await api.makePartitions('eu');
  const query = '?partition=eu';
  const listed = async (name: string): Promise<unknown> => ({ ...(await record(api, name, query)), Partition: 'eu' });
  await present(other, 'x', await generated(api, 'east', { Partition: 'eu' }));
  const first = await listed('east');
  await generated(api, 'EAST', { Partition: 'eu', Meta: { a: '1' } });
  const second = await listed('east');
  await api.request('DELETE', `/v1/peering/east/token${query}`);
  await api.request('DELETE', `/v1/peering/east${query}`);
  const third = await listed('east');
  await present(api, 'west', await generated(other, 'y'), { Partition: 'eu' });
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
