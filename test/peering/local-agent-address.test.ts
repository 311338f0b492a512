/** The address of the local agent's node when a server restarts with other addresses. */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { agentAddress } from '../../src/main/agent-address.ts';
import { freePort } from '../support/free-port.ts';
import { type Server, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function register(server: Server, body: unknown): Promise<number> {
  return (await server.request('PUT', '/v1/agent/service/register', { body })).status;
}

async function nodeAddress(server: Server): Promise<string | undefined> {
  const nodes = await server.request('GET', '/v1/catalog/nodes');
  return nodes.json<{ readonly Address: string }[]>()[0]?.Address;
}

test('the local agent has the address of the server, never a wildcard [SVC-44] [SVC-45] [SVC-46]', async () => {
  await using directory = await temporaryDirectory();
  const start = async (host: string): Promise<Server> =>
    startServer({ dataDirectory: directory.path, settings: { 'http.address': `${host}:${await freePort()}` } });
  {
    await using server = await start('127.0.0.1');
    assert.equal(await register(server, { Name: 'web' }), 200);
    assert.equal(await nodeAddress(server), '127.0.0.1');
    await server.stop();
  }
  {
    await using server = await start('localhost');
    assert.equal(await nodeAddress(server), 'localhost');
    assert.doesNotMatch(server.log(), /http\.address is a wildcard address/);
    await server.stop();
  }
  await using server = await start('0.0.0.0');
  const expected = agentAddress('0.0.0.0', networkInterfaces()).address;
  assert.equal(await nodeAddress(server), expected);
  assert.match(
    server.log(),
    new RegExp(`"address":"${expected.replaceAll('.', '\\.')}".*http\\.address is a wildcard address`),
  );
  assert.equal(await register(server, { Name: 'db' }), 400);
  assert.equal(await register(server, { Name: 'db', Address: '10.0.0.1' }), 200);
});
