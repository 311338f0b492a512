/**
 * The network between simulated clusters. Like TLS and HTTP/2, it verifies certificates and carries messages as bytes.
 * Tests can delay, stall and cut connections, and make them half-open.
 */
import { X509Certificate } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../../src/peering/stream/accepting/acceptor.ts';
import type { ConnectPeer, PeerTarget } from '../../../../src/peering/stream/stream-dependencies.ts';
import type { ServedCertificate } from '../../../../src/peering/trust/identity.ts';
import type { Clock } from '../../../../src/state/clock/clock.ts';
import type { Random } from '../../random.ts';
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
  /** Aborts when the server has died. Code that it still runs then has no effect on the network. */
  readonly stopped: AbortSignal;
}

export interface SimulatedNetwork {
  /** The connections that at least one end still holds. */
  readonly connections: ReadonlySet<SimulatedConnection>;
  /** Returns the path from one cluster to another. */
  path(from: string, to: string): Path;
  /** Opens all paths. Stalled messages arrive now. */
  heal(): void;
  /** Makes the address of a host reachable. */
  listen(host: SimulatedHost): void;
  /** Makes an address unreachable: it refuses connections, or with `silent` never answers. */
  close(address: string, silent: boolean): void;
  /** Returns the function with which a server dials. */
  connector(dialer: SimulatedDialer): ConnectPeer;
}

export function createSimulatedNetwork(clock: Clock, random: Random): SimulatedNetwork {
  const hosts = new Map<string, SimulatedHost | 'silent'>();
  const paths = new Map<string, Path>();
  const connections = new Set<SimulatedConnection>();

  const path = (from: string, to: string): Path => {
    const name = `${from}>${to}`;
    let existing = paths.get(name);
    if (existing === undefined) {
      existing = { delayMsMax: 5, stalled: false };
      paths.set(name, existing);
    }
    return existing;
  };

  /** Makes the TCP and TLS handshake. Throws the errors that Node's sockets throw. */
  const handshake = (target: PeerTarget): Acceptor | undefined => {
    const host = hosts.get(target.address);
    if (host === 'silent') return undefined;
    if (host === undefined) throw connectError('ECONNREFUSED', 'connect ECONNREFUSED');
    const problem = certificateProblem(host.certificate().cert, target);
    if (problem !== undefined) throw connectError(problem, 'the certificate was rejected');
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
      const to = clusterOf(target.address);
      const connection = createConnection({
        clock,
        random,
        dialer,
        target,
        up: path(dialer.cluster, to),
        down: path(to, dialer.cluster),
        handshake: () => handshake(target),
        onClosed: () => void connections.delete(connection),
      });
      if (!dialer.stopped.aborted) connections.add(connection);
      else for (const direction of ['up', 'down'] as const) connection.dropPackets(direction);
      return connection;
    },
  };
}

/** Returns the cluster of an address, `cluster-server:port`. */
const clusterOf = (address: string): string => address.split('-')[0] ?? '';

function connectError(code: string, message: string): ConnectError {
  const cause = Object.assign(new Error(message), { code });
  return new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
}

/** Cached results of signature checks, because the same certificates are verified at every connection. */
const verified = new Map<string, boolean>();

/** Verifies a certificate. @returns the error code of Node's TLS, or undefined when the certificate is valid */
function certificateProblem(pem: string, { serverName, roots }: PeerTarget): string | undefined {
  const certificate = new X509Certificate(pem);
  if (certificate.checkHost(serverName) === undefined) return 'ERR_TLS_CERT_ALTNAME_INVALID';
  const isSigned = (root: string): boolean => {
    const pair = `${pem}${root}`;
    let isValid = verified.get(pair);
    if (isValid === undefined) {
      const issuer = new X509Certificate(root);
      isValid = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
      verified.set(pair, isValid);
    }
    return isValid;
  };
  return roots.some(isSigned) ? undefined : 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
}
