import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  runCli,
  type StubRequest,
  type StubResponse,
  startStubServer,
} from '../../../../test/support/process/cli-harness.ts';

const exported = {
  Kind: 'exported-services',
  Name: 'default',
  Partition: 'default',
  Services: [
    { Name: 'web', Consumers: [{ Peer: 'east' }, { Partition: 'eu' }] },
    { Name: '*', Consumers: [{ Peer: 'west' }] },
  ],
  CreateIndex: 7,
  ModifyIndex: 9,
};
const intentions = {
  Kind: 'service-intentions',
  Name: 'db',
  Partition: 'eu',
  Sources: [
    { Name: 'web', Peer: 'east', Action: 'allow', Precedence: 9, Type: 'consul', Description: 'reports' },
    { Name: '*', Action: 'deny', Precedence: 8, Type: 'consul' },
  ],
  CreateIndex: 7,
  ModifyIndex: 9,
};

const command = (address: string, ...args: string[]): string[] => ['config-entry', ...args, '--address', address];
const requestLines = (requests: readonly StubRequest[]): string[] =>
  requests.map(({ method, path }) => `${method} ${path}`);

describe('accord config-entry', () => {
  test('read and list print entries', async (t) => {
    const { address, requests } = await startStubServer(t, ({ path }) => {
      if (path.startsWith('/v1/config/exported-services/')) return { body: exported };
      return { body: path.includes('/db') ? intentions : [intentions, exported] };
    });
    assert.equal(
      (await runCli(command(address, 'read', 'exported-services', 'default'))).stdout,
      [
        'Kind          exported-services\nName          default\nPartition     default\nModify index  9\n\n',
        'SERVICE  CONSUMERS\nweb      peer east, partition eu\n*        peer west\n',
      ].join(''),
    );
    const read = await runCli(command(address, 'read', 'service-intentions', 'db', '--partition', 'eu'));
    const rules = [
      'SOURCE           ACTION  PRECEDENCE  DESCRIPTION',
      'web (peer east)  allow   9           reports',
      '*                deny    8',
    ];
    assert.equal(read.stdout.split('\n\n')[1], `${rules.join('\n')}\n`);
    assert.equal(
      (await runCli(command(address, 'list', 'service-intentions'))).stdout,
      'NAME     PARTITION  RULES  MODIFY INDEX\ndb       eu         2      9\ndefault  default    2      9\n',
    );
    const json = await runCli(command(address, 'list', 'service-intentions', '--json'));
    assert.deepEqual(JSON.parse(json.stdout), [intentions, exported]);
    assert.deepEqual(requestLines(requests), [
      'GET /v1/config/exported-services/default',
      'GET /v1/config/service-intentions/db?partition=eu',
      'GET /v1/config/service-intentions',
      'GET /v1/config/service-intentions',
    ]);
  });

  test('write sends standard input and prints warnings', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({
      body: true,
      headers: { 'x-service-warning': 'peer "east" does not exist yet' },
    }));
    const stdin = JSON.stringify(exported);
    const { exitCode, stdout, stderr } = await runCli(command(address, 'write', '-', '--cas', '0'), { stdin });
    assert.deepEqual([exitCode, stdout], [0, '']);
    assert.equal(stderr, 'Warning: peer "east" does not exist yet\nWritten.\n');
    assert.deepEqual([requestLines(requests), requests[0]?.body], [['PUT /v1/config?cas=0'], exported]);
  });

  test('write fails if --cas is not the modify index of the entry', async (t) => {
    const { address } = await startStubServer(t, () => ({ body: false }));
    const { exitCode, stderr } = await runCli(command(address, 'write', '-', '--cas', '7'), { stdin: '{}' });
    assert.equal(exitCode, 1);
    assert.match(stderr, /not changed: --cas is not the modify index of the entry; read the entry again/);
  });

  test('write and preview reject invalid JSON and missing files', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ body: true }));
    const noJson = await runCli(command(address, 'write', '-'), { stdin: 'Kind = "x"' });
    assert.deepEqual(
      [noJson.exitCode, noJson.stderr.startsWith('accord: standard input does not contain valid JSON: ')],
      [2, true],
    );
    const noFile = await runCli(command(address, 'preview', '/no/such/file'));
    assert.equal(noFile.exitCode, 2);
    assert.match(noFile.stderr, /cannot read the entry from the file \/no\/such\/file/);
    assert.deepEqual(requests, []);
  });

  test('preview prints only changes', async (t) => {
    const peers = [
      { Peer: 'east', Gains: ['db', 'web'], Loses: [] },
      { Peer: 'north', Gains: [], Loses: [] },
      { Peer: 'west', Gains: [], Loses: ['web'] },
    ];
    const sources = [{ Name: 'web', Peer: 'east', Before: 'deny', After: 'allow' }];
    let reply: StubResponse = { body: { Peers: peers, Sources: [] } };
    const { address, requests } = await startStubServer(t, () => reply);
    const run = async (...more: string[]) => await runCli(command(address, 'preview', '-', ...more), { stdin: '{}' });
    assert.equal(
      (await run()).stdout,
      'PEER  CHANGE  SERVICE\neast  gains   db\neast  gains   web\nwest  loses   web\n',
    );
    reply = { body: { Peers: [], Sources: sources } };
    assert.equal((await run()).stdout, 'SOURCE           BEFORE  AFTER\nweb (peer east)  deny    allow\n');
    assert.deepEqual(JSON.parse((await run('--json')).stdout), { Peers: [], Sources: sources });
    reply = { body: { Peers: peers.slice(1, 2), Sources: [] } };
    assert.equal((await run()).stdout, 'No changes.\n');
    assert.equal(requestLines(requests)[0], 'POST /v1/config/preview');
  });

  test('delete reports whether the entry existed', async (t) => {
    const { address, requests } = await startStubServer(t, ({ method, path }) => {
      if (method === 'GET') return { status: path.includes('db') ? 200 : 404, body: intentions };
      return { body: !path.includes('cas=7') };
    });
    const run = (...args: string[]) => runCli(command(address, 'delete', 'service-intentions', ...args));
    assert.equal((await run('db')).stderr, 'Deleted entry service-intentions/db.\n');
    assert.match((await run('*')).stderr, /^Nothing to delete: entry service-intentions\/\* does not exist/);
    assert.equal((await run('db', '--cas', '9')).stderr, 'Deleted entry service-intentions/db.\n');
    assert.equal((await run('db', '--cas', '7')).exitCode, 1);
    assert.deepEqual(requestLines(requests), [
      'GET /v1/config/service-intentions/db',
      'DELETE /v1/config/service-intentions/db',
      'GET /v1/config/service-intentions/*',
      'DELETE /v1/config/service-intentions/*',
      'DELETE /v1/config/service-intentions/db?cas=9',
      'DELETE /v1/config/service-intentions/db?cas=7',
    ]);
  });
});
