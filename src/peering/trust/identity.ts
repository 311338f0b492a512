/**
 * What this cluster is to its peers: a name, the certificate that proves it, and the roots by which they check that. The
 * row of the certificate authority decides (authority.ts); every server follows it and serves what it says now.
 */
import { cluster } from '../../credentials/cluster.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import { rowTopic } from '../../state/watch/change-notifier.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { bundleFingerprint } from './acknowledgement.ts';
import { AUTHORITY_KEY, type Authority, authorities, authorityOf, bundleOf, serverKeyPlace } from './authority.ts';
import { prepareAuthority } from './first-authority.ts';
import { type ClusterName, clusterName } from './names.ts';

/** The certificate that the peer listener serves, with its key; both PEM. */
export interface ServedCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ServerIdentity extends ClusterName, Disposable {
  /** What the peer listener serves now; the same object until it changes. */
  current(): ServedCertificate;
  /** Calls the listener after every change of `current` or `roots`, made here or by another server. @returns forgets it */
  onChange(listener: () => void): () => void;
  /** The roots that tokens and the trust bundle name, PEM, each ending in a newline; the one that is served first. */
  roots(reader: Reader): readonly string[];
}

export interface IdentityParts {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly log: Log;
}

/**
 * Makes the certificate authority if the state has none, seals its keys if they lie in clear and there is a data key,
 * and follows it from there. Needs a loaded state that knows its datacenter.
 * @throws DataKeyError when the keys are sealed and the data key is missing or another one; StateError
 */
export async function openServerIdentity({ state, clock, secrets, log }: IdentityParts): Promise<ServerIdentity> {
  const name = clusterName(state.snapshot.cluster, datacenterOf(state.snapshot));
  await prepareAuthority({ state, clock, secrets, log, name });

  const listeners = new Set<() => void>();
  let seen = authorityOf(state.snapshot);
  let served = openServed(seen.current, secrets);
  const onChange = (): void => {
    const next = authorityOf(state.snapshot);
    const { server } = next.current;
    const sameServer = server.fingerprint === seen.current.server.fingerprint;
    if (sameServer && bundleFingerprint(bundleOf(next)) === bundleFingerprint(bundleOf(seen))) return;
    if (!sameServer) {
      try {
        served = openServed(next.current, secrets);
      } catch (error) {
        log.error({ error }, 'the new server certificate for peers cannot be used here: the old one is still served');
        return;
      }
      log.info({ fingerprint: server.fingerprint, notAfter: server.notAfter }, 'new server certificate for peers');
    }
    seen = next;
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
    roots: (reader) => bundleOf(authorityOf(reader)),
    [Symbol.dispose]: stopFollowing,
  };
}

function datacenterOf(reader: Reader): string {
  const decided = reader.get(cluster, 'cluster');
  if (decided === undefined) throw new TypeError('the identity is opened after the first start has been made');
  return decided.row.datacenter;
}

function openServed({ id, server }: Authority, secrets: SecretStore): ServedCertificate {
  return { cert: server.certificate, key: secrets.open(server.key, serverKeyPlace(id)) };
}
