import { until } from '../until.ts';
import type { Server } from './server.ts';

/** Waits until `count` blocking queries wait on the server. */
export async function untilQueriesWait(server: Server, count: number): Promise<void> {
  await until(`${count} queries wait on ${server.address}`, async () => {
    const { text } = await server.request('GET', '/metrics', { token: null });
    return text.includes(`\naccord_http_waiting_queries ${count}\n`);
  });
}
