/** The output of a server at level `trace` while requests and responses contain secrets. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { AclTokenJson } from '../../src/credentials/acl-token-to-json.ts';
import { type Server, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

test('the log and standard output of a server contain no secret [SRV-44, SRV-74, V1-18]', {
  timeout: 240_000,
}, async () => {
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

  const sendRequests = async (server: Server): Promise<void> => {
    const file = JSON.parse(await readFile(path.join(directory.path, 'credentials.json'), 'utf8'));
    secret('user token', file.teamAccess.token);
    secret('ACL token', file.peering.secretId);
    const created = await server.request('PUT', '/v1/acl/token', { body: {} });
    assert.equal(created.status, 200, created.text);
    secret('created token', created.json<AclTokenJson>().SecretID ?? '');
    const generated = await server.request('POST', '/v1/peering/token', {
      body: { PeerName: 'east', Meta: { note: secret('value of Meta', randomUUID()) } },
    });
    assert.equal(generated.status, 200, generated.text);
    const token = secret('peering token', generated.json<{ PeeringToken: string }>().PeeringToken);
    const content = JSON.parse(Buffer.from(token, 'base64').toString()) as { EstablishmentSecret: string };
    secret('establishment secret', content.EstablishmentSecret);
    const presented = secret('unknown token', randomUUID());
    const answers = [
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
      answers.map(({ status }) => status),
      [403, 403, 400, 400, 400, 400, 400, 400, 400, 400, 200, 200],
      answers.map(({ text }) => text.slice(0, 100)).join('\n'),
    );
  };
  const assertNoSecrets = (server: Server): void => {
    for (const [name, value] of secrets) {
      for (const text of [server.log(), server.output()]) assert.ok(!text.includes(value), `${name} in: ${text}`);
    }
  };

  {
    await using server = await startServer({ ...options, environment });
    await sendRequests(server);
    await until('the last request is logged', () => server.log().includes('/v1/partitions'));
    assert.equal(await server.stop(), 0);
    assert.match(server.output(), /^Accord is at .*\nIts first credentials are in .*credentials\.json\nTry:\n/);
    assertNoSecrets(server);
  }
  await using recovered = await startServer({ ...options, environment, args: ['--recover'] });
  await sendRequests(recovered);
  assert.equal(await recovered.stop(), 0);
  assert.match(recovered.log(), /new credentials created/);
  assertNoSecrets(recovered);
});
