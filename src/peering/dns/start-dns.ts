/**
 * The DNS server: one port, over UDP and TCP. It is authoritative for one domain and refuses all other names, so it is
 * not an open resolver.
 */
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Measured } from '../../budget/measured.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { PORT_TRIES_MAX } from './limits.ts';
import { createRateLimitedLog } from './rate-limited-log.ts';
import { createResponder, type Responder } from './respond.ts';
import { serveTcp, type TcpDependencies, type TcpService } from './serve-tcp.ts';
import { type ListenAddress, serveUdp, type UdpService } from './serve-udp.ts';
import type { Zone } from './zone.ts';

export interface DnsOptions extends Omit<Zone, 'domain'> {
  /** `dns.address`. Port 0 selects a free one. */
  readonly listen: ListenAddress;
  /** `dns.domain` */
  readonly domain: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RunningDns extends AsyncDisposable {
  /** The listening address, `host:port`. */
  readonly address: string;
  readonly port: number;
  readonly traffic: Omit<Responder, 'respond'>;
  readonly connectionCount: number;
  readonly budgets: readonly Measured[];
}

/** Starts the server. Disposing it sends pending responses first. @throws a system error, such as EADDRINUSE */
export async function startDns({ listen, domain, clock, log, ...rest }: DnsOptions): Promise<RunningDns> {
  await using parts = new AsyncDisposableStack();
  const quietLog = createRateLimitedLog(log, clock);
  const responder = createResponder({ ...rest, domain: domain.toLowerCase() }, quietLog, clock);
  // UDP and TCP listen on the same address, even if the name has several.
  const { address: host } = await lookup(listen.host);
  const { udp, tcp } = await serveBoth({ host, port: listen.port }, responder, { clock, log: quietLog });
  parts.use(tcp);
  parts.use(udp);
  const owned = parts.move();
  const { port } = tcp.address;
  return {
    address: isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`,
    port,
    traffic: responder,
    budgets: [responder.udpRate, tcp.connections],
    get connectionCount() {
      return tcp.connectionCount;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function serveBoth(
  listen: ListenAddress,
  responder: Responder,
  dependencies: TcpDependencies,
): Promise<{ readonly udp: UdpService; readonly tcp: TcpService }> {
  for (let tries = 1; ; tries++) {
    const tcp = await serveTcp(listen, responder, dependencies);
    try {
      return { tcp, udp: await serveUdp({ ...listen, port: tcp.address.port }, responder, dependencies.log) };
    } catch (error) {
      await tcp[Symbol.asyncDispose]();
      // A port that is free for TCP may be in use for UDP. With port 0, another one is tried.
      const canRetry = listen.port === 0 && (error as { code?: unknown }).code === 'EADDRINUSE';
      if (!canRetry || tries === PORT_TRIES_MAX) throw error;
    }
  }
}
