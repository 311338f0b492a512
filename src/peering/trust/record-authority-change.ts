/** Records changes of the certificate authority in the audit log, without keys. */
import { type Origin, recordChange } from '../../audit/record.ts';
import { DEFAULT_PARTITION } from '../../credentials/partition.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type CertificateAuthority, trustedAuthorities } from './authority.ts';

/** `renew` replaces the server certificate. The other actions are the transitions in authority.ts. */
export type AuthorityAction = 'create' | 'renew' | 'rotate' | 'switch' | 'retire' | 'rotate-back';

type Row = DeepReadonly<CertificateAuthority>;

/** Adds the audit entry to the commit of `tx`, in the default partition like all entries of the whole cluster. */
export function recordAuthorityChange(
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
    before: before === undefined ? null : authoritySummary(before),
    after: authoritySummary(after),
  });
}

/** Returns a summary with the names of fields of `GET /v1/operator/ca`. */
function authoritySummary(row: Row): unknown {
  return {
    Stage: row.rotation?.stage ?? 'stable',
    Roots: trustedAuthorities(row).map(({ id, root }) => ({ ID: id, Fingerprint: root.fingerprint })),
    ServerCertificate: { Fingerprint: row.current.server.fingerprint, NotAfter: row.current.server.notAfter },
  };
}
