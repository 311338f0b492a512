import { until } from '../until.ts';
import type { Server } from './server.ts';

/** Waits until the server holds as many blocking queries. */
export async function untilHeld(server: Server, count: number): Promise<void> {
  await until(`${server.address} holds ${count} queries`, async () => {
    const { text } = await server.request('GET', '/metrics', { token: null });
    return text.includes(`\naccord_http_waiting_queries ${count}\n`);
  });
}
