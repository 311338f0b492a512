/**
 * The identity of this cluster towards its peers: its names, the server certificate, and the CA roots that peers trust.
 * Every server follows the row of the certificate authority and serves the certificate in it.
 */
import { cluster } from '../../credentials/cluster.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import { rowTopic } from '../../state/watch/change-notifier.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { bundleFingerprint } from './acknowledgment.ts';
import { AUTHORITY_KEY, type Authority, authorities, authorityRow, serverKeyPlace, trustedRoots } from './authority.ts';
import { type ClusterName, clusterName } from './cluster-name.ts';
import { prepareAuthority } from './prepare-authority.ts';

/** The certificate of the peer listener and its private key, both in PEM. */
export interface ServedCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ServerIdentity extends ClusterName, Disposable {
  /** Returns the certificate to serve. The object is the same until the certificate changes. */
  current(): ServedCertificate;
  /** Calls the listener after any server changes `current` or `roots`. @returns a function that removes it */
  onChange(listener: () => void): () => void;
  /** Returns the CA roots of tokens and trust bundles: PEM, each ending in a newline, the served one first. */
  roots(reader: Reader): readonly string[];
}

export interface IdentityDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly log: Log;
}

/**
 * Prepares the certificate authority and follows its row. Requires a loaded state after the first start.
 * @throws DataKeyError when the keys are encrypted and the data key is missing or different, StateError
 */
export async function openServerIdentity({
  state,
  clock,
  secrets,
  log,
}: IdentityDependencies): Promise<ServerIdentity> {
  const name = clusterName(state.snapshot.cluster, datacenterOf(state.snapshot));
  await prepareAuthority({ state, clock, secrets, log, name });

  const listeners = new Set<() => void>();
  let lastRow = authorityRow(state.snapshot);
  let served = decryptServed(lastRow.current, secrets);
  const onChange = (): void => {
    const next = authorityRow(state.snapshot);
    const { server } = next.current;
    const sameServer = server.fingerprint === lastRow.current.server.fingerprint;
    if (sameServer && bundleFingerprint(trustedRoots(next)) === bundleFingerprint(trustedRoots(lastRow))) return;
    if (!sameServer) {
      try {
        served = decryptServed(next.current, secrets);
      } catch (error) {
        log.error({ error }, 'certificate not replaced: the new key cannot be decrypted');
        return;
      }
      log.info({ fingerprint: server.fingerprint, notAfter: server.notAfter }, 'certificate renewed');
    }
    lastRow = next;
    for (const listener of listeners) listener();
  };
  const stopFollowing = state.follow([rowTopic(authorities, AUTHORITY_KEY)], onChange);

  return {
    ...name,
    current: () => served,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    roots: (reader) => trustedRoots(authorityRow(reader)),
    [Symbol.dispose]: stopFollowing,
  };
}

function datacenterOf(reader: Reader): string {
  const stored = reader.get(cluster, 'cluster');
  if (stored === undefined) throw new TypeError('the server identity was opened before the first start was committed');
  return stored.row.datacenter;
}

function decryptServed({ id, server }: Authority, secrets: SecretStore): ServedCertificate {
  return { cert: server.certificate, key: secrets.decrypt(server.key, serverKeyPlace(id)) };
}
