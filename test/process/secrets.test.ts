/** What a whole server writes, at its most talkative, while secrets go in and out. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ShownToken } from '../../src/credentials/acl-token.ts';
import { type Server, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

test('no secret is ever written to the log or to standard output', { timeout: 240_000 }, async () => {
  await using directory = await temporaryDirectory();
  const secrets = new Map<string, string>();
  const secret = (name: string, value: string): string => {
    secrets.set(name, value);
    return value;
  };
  const environment = {
    ACCORD_DATA_KEY: secret('data key', randomBytes(32).toString('base64')),
    ACCORD_BOOTSTRAP_ACL_TOKEN: secret('bootstrap token', randomUUID()),
  };
  const options = { dataDirectory: directory.path, settings: { 'log.level': 'trace' } };

  const use = async (server: Server): Promise<void> => {
    const file = JSON.parse(await readFile(path.join(directory.path, 'credentials.json'), 'utf8'));
    secret('user token', file.teamAccess.token);
    secret('ACL token', file.peering.secretId);
    const made = await server.request('PUT', '/v1/acl/token', { body: {} });
    assert.equal(made.status, 200, made.text);
    secret('made token', made.json<ShownToken>().SecretID ?? '');
    const generated = await server.request('POST', '/v1/peering/token', {
      body: { PeerName: 'east', Meta: { note: secret('value of Meta', randomUUID()) } },
    });
    assert.equal(generated.status, 200, generated.text);
    const token = secret('peering token', generated.json<{ PeeringToken: string }>().PeeringToken);
    const inside = JSON.parse(Buffer.from(token, 'base64').toString()) as { EstablishmentSecret: string };
    secret('establishment secret', inside.EstablishmentSecret);
    const presented = secret('unknown token', randomUUID());
    const asked = [
      await server.request('GET', '/v1/acl/token/self', { token: presented }),
      await server.request('GET', '/v1/acl/token/self', {
        token: null,
        headers: { authorization: `Bearer ${presented}` },
      }),
      await server.request('GET', `/v1/acl/token/self?token=${presented}`, { token: null }),
      await server.request('GET', `/v1/acl/token/self?X-Service-Token=${presented}`, { token: null }),
      await server.request('PUT', '/v1/acl/token', { body: `{"SecretID": "${presented}"` }),
      await server.request('PUT', '/v1/acl/token', { body: { SecretID: presented } }),
      await server.request('POST', '/v1/peering/establish', { body: { PeerName: 'own', PeeringToken: token } }),
      await server.request('POST', '/v1/peering/establish', { body: { PeerName: 'bad', PeeringToken: `${token}x` } }),
      await server.request('POST', '/v1/peering/establish', { body: `{"PeeringToken": "${token}"` }),
      await server.request('POST', '/v1/peering/token', { body: { PeerName: 'x', Unknown: token } }),
      await server.request('GET', '/v1/operator/export'),
      await server.request('GET', '/v1/partitions'),
    ];
    assert.deepEqual(
      asked.map(({ status }) => status),
      [403, 403, 400, 400, 400, 400, 400, 400, 400, 400, 200, 200],
      asked.map(({ text }) => text.slice(0, 100)).join('\n'),
    );
  };
  const assertSilent = (server: Server): void => {
    for (const [name, value] of secrets) {
      for (const text of [server.log(), server.output()]) assert.ok(!text.includes(value), `${name} in: ${text}`);
    }
  };

  {
    await using server = await startServer({ ...options, environment });
    await use(server);
    await until('all is logged', () => server.log().includes('/v1/partitions'));
    assert.equal(await server.stop(), 0);
    assert.match(server.output(), /^Accord is at .*\nIts first credentials are in .*credentials\.json\nTry:\n/);
    assertSilent(server);
  }
  await using recovered = await startServer({ ...options, environment, args: ['--recover'] });
  await use(recovered);
  assert.equal(await recovered.stop(), 0);
  assert.match(recovered.log(), /new credentials created/);
  assertSilent(recovered);
});
