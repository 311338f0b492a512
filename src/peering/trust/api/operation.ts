/** What the operations on the certificate authority get. */

import type { Credentials } from '../../../credentials/operation.ts';
import { ALL_PARTITIONS } from '../../../credentials/request-partition.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { SecretStore } from '../../record/encrypted-secret.ts';
import type { ClusterName } from '../names.ts';

export interface Trust {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly name: ClusterName;
}

/** The authority belongs to the whole cluster: a grant in one partition does not reach it. */
export const CLUSTER_WIDE = ALL_PARTITIONS;
