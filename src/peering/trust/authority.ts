/**
 * The certificate authority of the cluster: its row, and the transitions of a rotation ([PEER-86]). Each transition is
 * a pure function that returns the next row, or `undefined` when it is not allowed in the current stage.
 *
 *     (none) ── announced ────────────▶ switched ────────────▶ (none)
 *               trusted: old and new    trusted: old and new   trusted: new
 *               served:  old            served:  new           served:  new
 *
 * The served and the trusted CA roots are in one row, so that they always change in one commit. A served root that is
 * not trusted would lock out peers. `revertRotation` returns from either stage to the old root.
 */
import type { Reader } from '../../state/memory/reader.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { SecretStore, StoredSecret } from '../record/encrypted-secret.ts';
import {
  ANNOUNCED_CHECK_INTERVAL_MS,
  ANNOUNCED_MS,
  CHECK_INTERVAL_MS,
  RENEWAL_SHARE,
  ROTATE_BEFORE_EXPIRY_MS,
  SWITCHED_MS,
} from './limits.ts';

/** A certificate with its private key. Times are RFC 3339. */
export interface IssuedCertificate {
  /** PEM, ending in a newline. */
  readonly certificate: string;
  /** PKCS #8 in PEM. */
  readonly key: StoredSecret;
  /** SHA-256 of the certificate in OpenSSL's format: `AB:CD:…`. */
  readonly fingerprint: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

export interface Authority {
  /** UUID. */
  readonly id: string;
  readonly root: IssuedCertificate;
  readonly server: IssuedCertificate;
}

export type Rotation =
  | { readonly stage: 'announced'; readonly next: Authority; readonly since: string }
  | { readonly stage: 'switched'; readonly previous: Authority; readonly since: string };

export interface CertificateAuthority {
  readonly id: typeof AUTHORITY_KEY;
  /** The authority whose server certificate is served. */
  readonly current: Authority;
  readonly rotation?: Rotation;
  /** The CA root that the last finished rotation deleted. */
  readonly retired?: { readonly id: string; readonly time: string };
}

/** The primary key of the table's only row. */
export const AUTHORITY_KEY = 'authority';

export const authorities = defineTable<CertificateAuthority>()({
  name: 'certificate-authority',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {},
  holdsSecrets: true,
});

type Row = DeepReadonly<CertificateAuthority>;

/** Returns the row. @throws TypeError before `prepareAuthority` has created it, which is a bug */
export function authorityRow(reader: Reader): Row {
  const stored = reader.get(authorities, AUTHORITY_KEY);
  if (stored === undefined) throw new TypeError('the certificate authority is made when the server identity is opened');
  return stored.row;
}

/** The encryption contexts of an authority's private keys. They are the same in every stage. */
export const rootKeyPlace = (id: string): string => `${authorities.name}/${id}/root`;
export const serverKeyPlace = (id: string): string => `${authorities.name}/${id}/server`;

/** Returns the authorities whose CA roots are trusted, the served one first. */
export function trustedAuthorities({ current, rotation }: Row): readonly Authority[] {
  if (rotation === undefined) return [current];
  return [current, rotation.stage === 'announced' ? rotation.next : rotation.previous];
}

/** Returns the CA roots of peering tokens and of the trust bundle in PEM, the served one first. */
export const trustedRoots = (row: Row): readonly string[] =>
  trustedAuthorities(row).map(({ root }) => root.certificate);

export const newAuthority = (current: Authority): CertificateAuthority => ({ id: AUTHORITY_KEY, current });

/** Starts a rotation: the new CA root is trusted. Returns `undefined` while a rotation is in progress. */
export function announceRoot(row: Row, next: Authority, now: string): Row | undefined {
  return row.rotation === undefined ? { ...row, rotation: { stage: 'announced', next, since: now } } : undefined;
}

/** Serves the new CA root. Returns `undefined` unless one is announced. */
export function switchRoot(row: Row, now: string): Row | undefined {
  if (row.rotation?.stage !== 'announced') return undefined;
  const { current: previous, rotation } = row;
  return { ...row, current: rotation.next, rotation: { stage: 'switched', previous, since: now } };
}

/** Deletes the old CA root and its key. Returns `undefined` unless the new one is served. */
export function retireRoot(row: Row, now: string): Row | undefined {
  if (row.rotation?.stage !== 'switched') return undefined;
  const { rotation, ...kept } = row;
  return { ...kept, retired: { id: rotation.previous.id, time: now } };
}

/** Returns to the old CA root and deletes the new one. Returns `undefined` when no rotation is in progress. */
export function revertRotation(row: Row): Row | undefined {
  const { rotation, ...kept } = row;
  if (rotation === undefined) return undefined;
  return rotation.stage === 'announced' ? kept : { ...kept, current: rotation.previous };
}

/** Replaces the server certificate of the served CA root. Returns `undefined` when another root is served by now. */
export function replaceServerCertificate(row: Row, id: string, server: IssuedCertificate): Row | undefined {
  return row.current.id === id ? { ...row, current: { ...row.current, server } } : undefined;
}

/** Encrypts every plain private key. Returns `undefined` when nothing changes. */
export function encryptKeys(row: Row, secrets: SecretStore): Row | undefined {
  let changed = false;
  const encryptKey = (issued: IssuedCertificate, place: string): IssuedCertificate => {
    const key = secrets.encryptIfPlain(issued.key, place);
    changed ||= key !== issued.key;
    return { ...issued, key };
  };
  const encryptBoth = ({ id, root, server }: Authority): Authority => ({
    id,
    root: encryptKey(root, rootKeyPlace(id)),
    server: encryptKey(server, serverKeyPlace(id)),
  });
  const { current, rotation } = row;
  const next: Row = {
    ...row,
    current: encryptBoth(current),
    ...(rotation && { rotation: mapRotation(rotation, encryptBoth) }),
  };
  return changed ? next : undefined;
}

function mapRotation(rotation: Rotation, map: (authority: Authority) => Authority): Rotation {
  return rotation.stage === 'announced'
    ? { ...rotation, next: map(rotation.next) }
    : { ...rotation, previous: map(rotation.previous) };
}

/** The next action of the background job, or the time until it checks again. */
export type Step =
  | { readonly action: 'renew' | 'rotate' | 'switch' | 'retire' }
  | { readonly action: 'wait'; readonly ms: number };

/** Returns the next step at `nowMs` ([PEER-85], [PEER-86]). @param unacknowledged number of peers that are awaited */
export function nextStep(row: Row, unacknowledged: number, nowMs: number): Step {
  const { current, rotation } = row;
  if (renewalTimeMs(current.server) <= nowMs) return { action: 'renew' };
  if (rotation === undefined) {
    const rotateMs = Date.parse(current.root.notAfter) - ROTATE_BEFORE_EXPIRY_MS;
    return rotateMs <= nowMs ? { action: 'rotate' } : { action: 'wait', ms: CHECK_INTERVAL_MS };
  }
  const over = stageEndMs(rotation) <= nowMs;
  if (rotation.stage === 'switched') return over ? { action: 'retire' } : { action: 'wait', ms: CHECK_INTERVAL_MS };
  return over || unacknowledged === 0 ? { action: 'switch' } : { action: 'wait', ms: ANNOUNCED_CHECK_INTERVAL_MS };
}

/** Returns when a certificate is due for renewal, in milliseconds since 1970. */
export function renewalTimeMs({ notBefore, notAfter }: IssuedCertificate): number {
  const beginMs = Date.parse(notBefore);
  return beginMs + (Date.parse(notAfter) - beginMs) * RENEWAL_SHARE;
}

/** Returns the latest end of a stage, in milliseconds since 1970. */
export function stageEndMs({ stage, since }: Pick<Rotation, 'stage' | 'since'>): number {
  return Date.parse(since) + (stage === 'announced' ? ANNOUNCED_MS : SWITCHED_MS);
}
