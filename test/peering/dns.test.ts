/** DNS of server processes, queried with `dig`. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { type Cluster, startCluster } from '../support/peering/clusters.ts';
import { type Answer, type Server, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout, toolPath } from '../support/tools.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

/** Runs `dig` and returns its output. */
async function dig(port: number, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(toolPath('dig'), ['@127.0.0.1', '-p', String(port), '+tries=2', '+time=20', ...args]);
  return stdout;
}

/** Returns the lines that `dig +short` prints, sorted. */
const short = async (port: number, ...args: readonly string[]): Promise<string[]> =>
  (await dig(port, '+short', ...args))
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();

const web = (node: string, last: number) => ({
  Node: node,
  Address: `10.0.0.${last}`,
  Service: { Service: 'web', Port: 8000 + last, Tags: ['v1'] },
});

describe('DNS', { skip: skipWithout('dig'), timeout: 120_000 }, () => {
  let server: Server;
  let port: number;
  before(async () => {
    port = await freePort();
    const settings = { 'dns.address': `127.0.0.1:${port}`, 'dns.ttl': '5s', 'acl.default-policy': 'allow' };
    server = await startServer({ settings });
    for (let i = 1; i <= 40; i++) {
      const answer = await server.request('PUT', '/v1/catalog/register', { body: web(`n${i}`, i) });
      assert.equal(answer.status, 200, answer.text);
    }
  });
  after(() => server[Symbol.asyncDispose]());

  test('answers over UDP with the TTL of dns.ttl [SVC-97]', async () => {
    const printed = await dig(port, 'n7.node.accord', 'A');
    assert.match(printed, /status: NOERROR/);
    assert.match(printed, /flags: qr aa rd; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1/);
    assert.match(printed, /^n7\.node\.accord\.\s+5\s+IN\s+A\s+10\.0\.0\.7$/m);
    assert.match(printed, /EDNS: version: 0, flags:; udp: 1232/);
    assert.doesNotMatch(printed, /malformed|mismatch|extra bytes/i);
  });

  test('truncates a long answer over UDP and sends it over TCP [SVC-107]', async () => {
    assert.match(await dig(port, '+ignore', '+noedns', '_web._tcp.service.accord', 'SRV'), /flags: qr aa tc/);
    const targets = await short(port, '_web._tcp.service.accord', 'SRV');
    assert.equal(targets.length, 40);
    assert.ok(targets.includes('1 1 8040 n40.node.accord.'));
    assert.equal((await short(port, '+tcp', 'v1.web.service.accord', 'A')).length, 40);
  });

  test('distinguishes missing names, foreign names and unsupported queries [SVC-102] [SVC-103] [SVC-108]', async () => {
    const missing = await dig(port, 'none.service.accord', 'A');
    assert.match(missing, /status: NXDOMAIN/);
    assert.match(missing, /^accord\.\s+5\s+IN\s+SOA\s+ns\.accord\. hostmaster\.accord\. \d+ 86400 7200 3600000 5$/m);
    assert.match(await dig(port, 'web.service.accord', 'MX'), /status: NOERROR[\s\S]*ANSWER: 0, AUTHORITY: 1/);
    assert.match(await dig(port, 'example.com', 'A'), /status: REFUSED/);
    assert.match(await dig(port, '+opcode=notify', 'web.service.accord', 'SOA'), /status: NOTIMP/);
    assert.match(await dig(port, '+edns=1', '+noednsnegotiation', 'web.service.accord', 'A'), /status: BADVERS/);
    assert.match(await dig(port, 'web.service.accord', 'ANY'), /HINFO\s+"RFC8482" ""/);
  });

  test('counts answers in the metrics', async () => {
    const { text } = await server.request('GET', '/metrics');
    for (const rcode of ['NOERROR', 'NXDOMAIN', 'REFUSED', 'NOTIMP', 'BADVERS']) {
      assert.match(text, new RegExp(`^accord_dns_questions_total\\{rcode="${rcode}"\\} [1-9]`, 'm'));
    }
    assert.match(text, /^accord_dns_connections \d+$/m);
  });

  test('releases the port when the server stops', async () => {
    assert.equal(await server.stop(), 0);
    await assert.rejects(dig(port, '+tries=1', '+time=1', 'web.service.accord', 'A'));
  });
});

describe('DNS of imported services', { skip: skipWithout('dig'), timeout: 120_000 }, () => {
  test('follows the peer, and answers only what the token of dns.token-file can read [SVC-105]', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await temporaryDirectory()).path;
    const east = stack.use(await startCluster());
    const west = stack.use(await startCluster());
    const mustRequest = async (cluster: Cluster, method: string, path: string, body: unknown): Promise<Answer> => {
      const answer = await cluster.request(method, path, { body });
      assert.equal(answer.status, 200, answer.text);
      return answer;
    };
    const created = await mustRequest(west, 'PUT', '/v1/acl/token', {
      Grants: [{ Resource: 'services', Access: 'read', Partition: '*', Names: ['web'] }],
    });
    const tokenFile = path.join(folder, 'dns-token');
    await writeFile(tokenFile, `${created.json<{ SecretID: string }>().SecretID}\n`);
    await west.kill('SIGTERM');
    const port = await freePort();
    await west.start({ 'dns.address': `127.0.0.1:${port}`, 'dns.token-file': tokenFile });
    await mustRequest(east, 'PUT', '/v1/config', {
      Kind: 'exported-services',
      Name: 'default',
      Services: [{ Name: '*', Consumers: [{ Peer: 'west' }] }],
    });
    for (const service of ['web', 'db']) {
      const body = { Node: 'n1', Address: '10.7.0.1', Service: { Service: service, Port: 80 } };
      await mustRequest(east, 'PUT', '/v1/catalog/register', body);
    }
    const established = await west.establish('east', await east.generate('west'));
    assert.equal(established.status, 200, established.text);
    const name = 'web.service.east.peer.accord';
    await until('DNS answers for web', async () => (await short(port, name, 'A')).join() === '10.7.0.1', 30_000);
    assert.deepEqual(await short(port, name, 'SRV'), ['1 1 80 n1.node.east.peer.accord.']);
    await until('db is imported', async () => {
      const { text } = await west.request('GET', '/v1/health/service/db?peer=east');
      return text.includes('10.7.0.1');
    });
    assert.match(await dig(port, 'db.service.east.peer.accord', 'A'), /status: NXDOMAIN/);
    await mustRequest(east, 'PUT', '/v1/catalog/deregister', { Node: 'n1' });
    await until('DNS no longer answers for web', async () => (await dig(port, name, 'A')).includes('NXDOMAIN'), 30_000);
  });
});
