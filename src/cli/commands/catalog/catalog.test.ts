import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const command = (address: string, ...args: string[]): string[] => ['catalog', ...args, '--address', address];

const node = { ID: '', Node: 'n1', Address: '10.0.0.1', Meta: { rack: '7', row: 'b' } };
const check = (Name: string, Status: string, Output = ''): object => ({ Name, Status, Output });
const entries = [
  {
    Node: node,
    Service: { ID: 'web-1', Address: '', Port: 80, Tags: ['v1', 'blue'] },
    Checks: [check('a', 'passing', 'well')],
  },
  {
    Node: { ...node, Node: 'n2' },
    Service: { ID: 'web-2', Address: '2001:db8::1', Port: 81, Tags: [], PeerName: 'east' },
    Checks: [check('a', 'warning'), check('b', 'critical', 'no answer\u001b[2J'), check('c', 'passing')],
  },
  { Node: node, Service: { ID: 'web-3', Address: 'web.example', Port: 0, Tags: [] }, Checks: [] },
];

describe('accord catalog', () => {
  test('services and nodes print tables for the given peer and partition', async (t) => {
    const { address, requests } = await startStubServer(t, ({ path: requestPath }) => ({
      body: requestPath.includes('nodes') ? [node] : { db: [], web: ['v1', 'blue'] },
    }));
    const services = await runCli(command(address, 'services', '--peer', 'east', '--partition', 'eu'));
    assert.equal(services.stdout, 'SERVICE  TAGS\ndb\nweb      v1, blue\n');
    const nodes = await runCli(command(address, 'nodes'));
    assert.equal(nodes.stdout, 'NODE  ADDRESS   ID  META\nn1    10.0.0.1      rack=7, row=b\n');
    assert.deepEqual(JSON.parse((await runCli(command(address, 'nodes', '--json'))).stdout), [node]);
    assert.deepEqual(
      requests.map((request) => request.path),
      ['/v1/catalog/services?partition=eu&peer=east', '/v1/catalog/nodes', '/v1/catalog/nodes'],
    );
  });

  test('health prints the most severe check of each instance', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ body: entries }));
    const { stdout } = await runCli(command(address, 'health', 'web'));
    assert.equal(
      stdout,
      [
        'STATUS    ADDRESS           NODE  ID     TAGS      PEER  NOTE',
        'passing   10.0.0.1:80       n1    web-1  v1, blue',
        'critical  [2001:db8::1]:81  n2    web-2            east  b: no answer\\x1b[2J',
        'passing   web.example:0     n1    web-3',
        '',
      ].join('\n'),
    );
    await runCli(command(address, 'health', 'a b', '--passing', '--tag', 'v1', '--failover', 'east,west'));
    assert.equal(requests.at(-1)?.path, '/v1/health/service/a%20b?passing=true&tag=v1&failover=east%2Cwest');
  });

  test('an unknown service or peer is an error [SRV-121]', async (t) => {
    const { address } = await startStubServer(t, ({ path: requestPath }) => {
      if (requestPath.startsWith('/v1/peering/')) return { status: requestPath.includes('east') ? 200 : 404, body: {} };
      if (requestPath.startsWith('/v1/health/service/web') && !requestPath.includes('tag')) return { body: entries };
      return { body: requestPath.includes('services') ? {} : [] };
    });
    const run = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runCli(command(address, ...args));
      return [exitCode, stdout, stderr];
    };
    const missing = 'not found, or you may not see it';
    assert.deepEqual(await run('health', 'wbe'), [1, '', `accord: service wbe: ${missing}\n`]);
    assert.deepEqual(await run('health', 'x', '--peer', 'east', '--json'), [
      ...[1, '', `accord: service x of peer east: ${missing}\n`],
    ]);
    for (const args of [['health', 'x'], ['services'], ['nodes']])
      assert.deepEqual(await run(...args, '--peer', 'esat'), [1, '', 'accord: peer esat: there is no such peering\n']);
    assert.equal((await run('services', '--peer', 'east'))[0], 0, 'a peer that exports nothing');
    assert.equal((await run('health', 'web', '--tag', 'none'))[0], 0, 'a service without such instances');
    assert.equal((await run('nodes'))[0], 0);
  });

  test('register sends the options', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ body: true }));
    const args = ['--node', 'n1', '--node-address', '10.0.0.1', '--service', 'web', '--id', 'web-1', '--port', '80'];
    const more = ['--service-address', '10.0.0.2', '--tag', 'a', '--tag', 'b', '--meta', 'k=v=w', '--partition', 'eu'];
    const { exitCode, stdout, stderr } = await runCli(command(address, 'register', ...args, ...more));
    assert.deepEqual([exitCode, stdout, stderr], [0, '', 'Registered.\n']);
    const [request] = requests;
    assert.deepEqual([request?.method, request?.path], ['PUT', '/v1/catalog/register?partition=eu']);
    assert.deepEqual(request?.body, {
      Node: 'n1',
      Address: '10.0.0.1',
      SkipNodeUpdate: false,
      Service: {
        Service: 'web',
        ID: 'web-1',
        Address: '10.0.0.2',
        Port: 80,
        Tags: ['a', 'b'],
        Meta: { k: 'v=w' },
      },
    });
    await runCli(command(address, 'register', '--node', 'n1', '--service', 'web'));
    assert.deepEqual(requests.at(-1)?.body, { Node: 'n1', SkipNodeUpdate: true, Service: { Service: 'web' } });
  });

  test('register sends the JSON of a file or of standard input', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ body: true }));
    const body = { Node: 'n1', Address: '10.0.0.1', Check: { Name: 'c' } };
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-catalog-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'node.json');
    await writeFile(file, JSON.stringify(body));
    assert.equal((await runCli(command(address, 'register', file))).exitCode, 0);
    assert.equal((await runCli(command(address, 'register', '-'), { stdin: JSON.stringify(body) })).exitCode, 0);
    assert.deepEqual(
      requests.map((request) => request.body),
      [body, body],
    );
  });

  const misuses: readonly (readonly [what: string, args: readonly string[], stdin: string, text: RegExp])[] = [
    ['no options', [], '', /give --node, or a file with the registration/],
    ['a port without a service', ['--node', 'n', '--port', '1'], '', /give --service/],
    ['an invalid port', ['--node', 'n', '--port', 'http'], '', /Give a port number, such as 8080\./],
    ['invalid metadata', ['--node', 'n', '--meta', 'x'], '', /Want KEY=VALUE/],
    ['a file and options', ['-', '--node', 'n'], '{}', /give a file or options, not both/],
    ['a missing file', ['/no/such/file'], '', /cannot read the registration from the file \/no\/such\/file/],
    ['invalid JSON', ['-'], '{', /standard input does not contain valid JSON/],
    ['too much input', ['-'], ' '.repeat(1024 * 1024 + 1), /it has more than 1048576 bytes/],
  ];
  for (const [what, args, stdin, text] of misuses) {
    test(`register with ${what} is a usage error`, async (t) => {
      const { address, requests } = await startStubServer(t, () => ({ body: true }));
      const { exitCode, stderr } = await runCli(command(address, 'register', ...args), { stdin });
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, text);
      assert.equal(requests.length, 0);
    });
  }

  test('deregister sends the node, service, or check', async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ body: true }));
    await runCli(command(address, 'deregister', '--node', 'n1', '--service-id', 'web-1', '--partition', 'eu'));
    await runCli(command(address, 'deregister', '--node', 'n1', '--check-id', 'c'));
    const { stdout, stderr } = await runCli(command(address, 'deregister', '--node', 'n1'));
    assert.deepEqual([stdout, stderr], ['', 'Deregistered.\n']);
    assert.deepEqual(
      requests.map(({ method, path: requestPath, body }) => [method, requestPath, body]),
      [
        ['PUT', '/v1/catalog/deregister?partition=eu', { Node: 'n1', ServiceID: 'web-1' }],
        ['PUT', '/v1/catalog/deregister', { Node: 'n1', CheckID: 'c' }],
        ['PUT', '/v1/catalog/deregister', { Node: 'n1' }],
      ],
    );
    const { exitCode } = await runCli(['catalog', 'deregister']);
    assert.equal(exitCode, 2);
  });

  test("prints the server's message when it rejects a registration", async (t) => {
    const { address } = await startStubServer(t, () => ({ status: 400, body: 'Must provide node' }));
    const { exitCode, stderr } = await runCli(command(address, 'register', '--node', 'n1'));
    assert.deepEqual([exitCode, stderr], [1, 'accord: Must provide node\n']);
  });
});
