/**
 * Starts the pipelined requests of a connection one after another. Node starts all that arrive at once, so a single
 * packet of a thousand requests would keep the event loop busy until all of them are answered.
 */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Measured } from '../../budget/measured.ts';
import { PIPELINED_REQUESTS_MAX } from '../limits.ts';

export interface PipeliningLimit {
  readonly measured: Measured;
  /** Returns a listener that calls `listener` when the connection has answered all earlier requests. */
  limit(listener: RequestListener): RequestListener;
}

/** Creates the limit. It closes connections that send more than PIPELINED_REQUESTS_MAX requests ahead. [SRV-120] */
export function createPipeliningLimit(): PipeliningLimit {
  const pipelined = new WeakMap<Socket, number>();
  const refused = new Map([[BOUND, 0]]);
  return {
    measured: { name: 'pipelined-requests', refused, measure: () => [{ bound: BOUND, max: PIPELINED_REQUESTS_MAX }] },
    limit: (listener) => (request, response) => {
      // Node assigns the socket to a response once the earlier responses are finished.
      if (response.socket !== null) {
        listener(request, response);
        return;
      }
      const { socket } = request;
      if (socket.destroyed) return;
      const count = pipelined.get(socket) ?? 0;
      if (count >= PIPELINED_REQUESTS_MAX) {
        refused.set(BOUND, (refused.get(BOUND) ?? 0) + 1);
        socket.destroy();
        return;
      }
      pipelined.set(socket, count + 1);
      response.once('socket', () => {
        pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1);
        listener(request, response);
      });
    },
  };
}

const BOUND = 'connection';
