import { auditLog } from '../audit/record.ts';
import { aclTokens } from '../credentials/acl-token.ts';
import { cluster } from '../credentials/cluster.ts';
import { partitions } from '../credentials/partition.ts';
import { users, userTokens } from '../credentials/user.ts';
import { importedServices } from '../peering/catalog/imported-service.ts';
import { peerings } from '../peering/record.ts';
import { acceptedSecrets, links, reservations, tombstones } from '../peering/secrets.ts';
import { acknowledgements } from '../peering/trust/acknowledgement.ts';
import { authorities } from '../peering/trust/authority.ts';
import { trustBundles } from '../peering/trust-bundle.ts';
import { defineSchema } from '../state/table.ts';

/** Every table of the state. */
export const SCHEMA = defineSchema([
  cluster,
  partitions,
  aclTokens,
  users,
  userTokens,
  authorities,
  peerings,
  acceptedSecrets,
  links,
  tombstones,
  reservations,
  acknowledgements,
  trustBundles,
  importedServices,
  auditLog,
]);
