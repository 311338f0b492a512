/**
 * Discovery over DNS as a running whole: one port, over UDP and TCP. It is authoritative for one domain and answers
 * nothing else, so it cannot be used against others as a resolver; what one question makes it send is bounded.
 */
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { PORT_TRIES_MAX } from './limits.ts';
import { createQuietLog } from './rate-limited-log.ts';
import { createResponder, type Responder } from './respond.ts';
import { type Around, serveTcp, type TcpService } from './serve-tcp.ts';
import { type Listen, serveUdp, type UdpService } from './serve-udp.ts';
import type { Zone } from './zone.ts';

export interface DnsOptions extends Omit<Zone, 'domain'> {
  /** `dns.address`; port 0: any that is free. */
  readonly listen: Listen;
  /** `dns.domain` */
  readonly domain: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RunningDns extends AsyncDisposable {
  /** Where it answers, `host:port`. */
  readonly address: string;
  readonly port: number;
  readonly traffic: Omit<Responder, 'respond'>;
  readonly connectionCount: number;
}

/** Answers until it is disposed; given answers are let out. @throws Error of the system, such as EADDRINUSE */
export async function startDns({ listen, domain, clock, log, ...rest }: DnsOptions): Promise<RunningDns> {
  await using parts = new AsyncDisposableStack();
  const quietLog = createQuietLog(log, clock);
  const responder = createResponder({ ...rest, domain: domain.toLowerCase() }, quietLog);
  // Both of one address, also where a name has several.
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
    get connectionCount() {
      return tcp.connectionCount;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function serveBoth(
  listen: Listen,
  responder: Responder,
  around: Around,
): Promise<{ readonly udp: UdpService; readonly tcp: TcpService }> {
  for (let tries = 1; ; tries++) {
    const tcp = await serveTcp(listen, responder, around);
    try {
      return { tcp, udp: await serveUdp({ ...listen, port: tcp.address.port }, responder, around.log) };
    } catch (error) {
      await tcp[Symbol.asyncDispose]();
      // A port that is free for TCP may be taken for UDP; of those that nobody asked for there are others.
      const isOtherPort = listen.port === 0 && (error as { code?: unknown }).code === 'EADDRINUSE';
      if (!isOtherPort || tries === PORT_TRIES_MAX) throw error;
    }
  }
}
