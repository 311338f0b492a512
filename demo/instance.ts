/**
 * `node instance.ts --data-dir DIR NAME`: an example service instance. It answers HTTP requests with its name,
 * registers with the server whose credentials are in DIR, and renews its TTL check until it is stopped.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/** TTL of the check: without a report for this long the instance is critical. */
const TIME_TO_LIVE = '2s';
/** Interval of reports. Several fit into the TTL, even on a busy machine. */
const REPORT_MS = 300;
const REPORT_MS_MAX = 5_000;

const { values, positionals } = parseArgs({ options: { 'data-dir': { type: 'string' } }, allowPositionals: true });
const { 'data-dir': dataDirectory } = values;
const [name] = positionals;
if (dataDirectory === undefined || name === undefined) throw new Error('want --data-dir DIR and the name of a service');

const { address, peering } = JSON.parse(await readFile(path.join(dataDirectory, 'credentials.json'), 'utf8'));
const server = createServer((_, response) => response.end(`${name} of ${dataDirectory}\n`));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

await put('/v1/agent/service/register', {
  Name: name,
  Address: '127.0.0.1',
  Port: port,
  Check: { TTL: TIME_TO_LIVE, Status: 'passing' },
});
process.stdout.write(`${name} of ${dataDirectory} answers at 127.0.0.1:${port}, process ${process.pid}\n`);
for (;;) {
  await put(`/v1/agent/check/pass/service:${name}`);
  await delay(REPORT_MS);
}

async function put(pathOfApi: string, body?: object): Promise<void> {
  const answer = await fetch(`${address}${pathOfApi}`, {
    method: 'PUT',
    headers: { 'x-service-token': peering.secretId },
    signal: AbortSignal.timeout(REPORT_MS_MAX),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${pathOfApi}: ${answer.status} ${await answer.text()}`);
}
