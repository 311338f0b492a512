/** Changes of the certificate authority in the audit log: what happened to which root, without keys. */
import { type Origin, recordChange } from '../../audit/record.ts';
import { DEFAULT_PARTITION } from '../../credentials/partition.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type CertificateAuthority, trustedAuthorities } from './authority.ts';

/** `renew`: the server certificate; the others as in authority.ts. */
export type AuthorityAction = 'create' | 'renew' | 'rotate' | 'switch' | 'retire' | 'rotate-back';

type Row = DeepReadonly<CertificateAuthority>;

/** Adds the change to the commit of `tx`. It stands under the default partition, as all that belongs to the cluster. */
export function recordAuthority(
  tx: Transaction,
  origin: Origin,
  action: AuthorityAction,
  before: Row | undefined,
  after: Row,
): void {
  recordChange(tx, origin, {
    action,
    type: 'certificate-authority',
    subject: after.current.id,
    partition: DEFAULT_PARTITION,
    before: before === undefined ? null : shown(before),
    after: shown(after),
  });
}

/** In the names of `GET /v1/operator/ca`. */
function shown(row: Row): unknown {
  return {
    Stage: row.rotation?.stage ?? 'stable',
    Roots: trustedAuthorities(row).map(({ id, root }) => ({ ID: id, Fingerprint: root.fingerprint })),
    ServerCertificate: { Fingerprint: row.current.server.fingerprint, NotAfter: row.current.server.notAfter },
  };
}
