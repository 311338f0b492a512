/** The server or client process of the bare streams. Its arguments are `serve`, or `call PORT CERTIFICATE`. */
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createSecretStore } from '../../src/peering/record/encrypted-secret.ts';
import { createAuthority } from '../../src/peering/trust/issue-certificates.ts';

const SERVER_NAME = 'server.bench';
const [role, port, ca = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit());

if (role === 'serve') {
  const secrets = createSecretStore(undefined);
  const name = { trustDomain: 'bench', serverName: SERVER_NAME, datacenter: 'dc1' };
  const { id, root, server: issued } = await createAuthority({ name, secrets, nowMs: Date.now() });
  const server = http2.createSecureServer({
    cert: issued.certificate,
    key: secrets.decrypt(issued.key, `certificate-authority/${id}/server`),
    ALPNProtocols: ['h2'],
  });
  server.on('stream', (stream: http2.ServerHttp2Stream) => {
    stream.respond({ ':status': 200 });
    stream.on('data', (chunk: Buffer) => stream.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.({ port: (server.address() as AddressInfo).port, certificate: root.certificate });
} else {
  const open = async (): Promise<void> => {
    const session = http2.connect(`https://127.0.0.1:${port}`, { ca, servername: SERVER_NAME });
    const stream = session.request({ ':method': 'POST', ':path': '/' });
    stream.write('hello');
    await once(stream, 'data');
    stream.resume();
  };
  process.on('message', async (count: number) => {
    for (let i = 0; i < count; i++) await open();
    process.send?.('open');
  });
  process.send?.('ready');
}
