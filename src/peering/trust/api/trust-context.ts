/** The dependencies of the operations on the certificate authority. */
import type { Credentials } from '../../../credentials/caller.ts';
import { ALL_PARTITIONS } from '../../../credentials/partition.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { SecretStore } from '../../record/encrypted-secret.ts';
import type { ClusterName } from '../cluster-name.ts';

export interface TrustContext {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly name: ClusterName;
}

/** The certificate authority belongs to the whole cluster, so it requires a grant in all partitions ([PEER-11]). */
export const CLUSTER_WIDE = ALL_PARTITIONS;
