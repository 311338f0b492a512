/**
 * The network between simulated clusters: peers dial each other over it as over TLS and HTTP/2, certificates are checked,
 * messages travel as bytes. What a network can do to them, tests do: slow it, stall it, cut, let it forget a connection.
 */
import { X509Certificate } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../src/peering/stream/accepting/acceptor.ts';
import type { ConnectPeer, PeerTarget } from '../../../src/peering/stream/stream-dependencies.ts';
import type { ServedCertificate } from '../../../src/peering/trust/identity.ts';
import type { Clock } from '../../../src/state/clock/clock.ts';
import type { Random } from '../random.ts';
import { createConnection, type SimulatedConnection } from './simulated-connection.ts';
import type { Path } from './simulated-pipe.ts';

/** A server that can be dialed. */
export interface SimulatedHost {
  /** `cluster-server:port` */
  readonly address: string;
  readonly acceptor: Acceptor;
  certificate(): ServedCertificate;
}

export interface SimulatedDialer {
  readonly cluster: string;
  readonly address: string;
  readonly version: string;
  /** Aborts when the server is gone: what its code still does then has no effect. */
  readonly gone: AbortSignal;
}

export interface SimulatedNetwork {
  /** Every connection that some end still has. */
  readonly connections: ReadonlySet<SimulatedConnection>;
  /** From one cluster to the other. */
  path(from: string, to: string): Path;
  /** Opens all paths. What was stalled arrives now. */
  heal(): void;
  /** Serves an address from now on. */
  listen(host: SimulatedHost): void;
  /** The address is served no more; `silent`: nor does anybody say so. */
  close(address: string, silent: boolean): void;
  /** How a server dials. */
  connector(dialer: SimulatedDialer): ConnectPeer;
}

export function createSimulatedNetwork(clock: Clock, random: Random): SimulatedNetwork {
  const hosts = new Map<string, SimulatedHost | 'silent'>();
  const paths = new Map<string, Path>();
  const connections = new Set<SimulatedConnection>();

  const path = (from: string, to: string): Path => {
    const name = `${from}>${to}`;
    let found = paths.get(name);
    if (found === undefined) {
      found = { delayMsMax: 5, stalled: false };
      paths.set(name, found);
    }
    return found;
  };

  /** TCP and TLS. Throws as Node's sockets do. */
  const meet = (target: PeerTarget): Acceptor | undefined => {
    const host = hosts.get(target.address);
    if (host === 'silent') return undefined;
    if (host === undefined) throw failure('ECONNREFUSED', 'connect ECONNREFUSED');
    const problem = untrusted(host.certificate().cert, target);
    if (problem !== undefined) throw failure(problem, 'the certificate is refused');
    return host.acceptor;
  };

  return {
    connections,
    path,
    heal() {
      for (const each of paths.values()) Object.assign(each, { delayMsMax: 5, stalled: false });
      for (const connection of connections) connection.resume();
    },
    listen: (host) => void hosts.set(host.address, host),
    close(address, silent) {
      if (silent) hosts.set(address, 'silent');
      else hosts.delete(address);
    },
    connector: (dialer) => (target) => {
      const to = clusterAt(target.address);
      const connection = createConnection({
        clock,
        random,
        dialer,
        target,
        up: path(dialer.cluster, to),
        down: path(to, dialer.cluster),
        meet: () => meet(target),
        over: () => void connections.delete(connection),
      });
      if (!dialer.gone.aborted) connections.add(connection);
      else for (const direction of ['up', 'down'] as const) connection.forget(direction);
      return connection;
    },
  };
}

/** Addresses are `cluster-server:port`. */
const clusterAt = (address: string): string => address.split('-')[0] ?? '';

function failure(code: string, message: string): ConnectError {
  const cause = Object.assign(new Error(message), { code });
  return new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
}

/** Signatures that were checked, since the same ones are checked again and again. */
const checked = new Map<string, boolean>();

/** The code of what is wrong with a certificate. */
function untrusted(pem: string, { serverName, roots }: PeerTarget): string | undefined {
  const certificate = new X509Certificate(pem);
  if (certificate.checkHost(serverName) === undefined) return 'ERR_TLS_CERT_ALTNAME_INVALID';
  const isSigned = (root: string): boolean => {
    const pair = `${pem}${root}`;
    let holds = checked.get(pair);
    if (holds === undefined) {
      const issuer = new X509Certificate(root);
      holds = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
      checked.set(pair, holds);
    }
    return holds;
  };
  return roots.some(isSigned) ? undefined : 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
}
