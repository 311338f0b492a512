import { auditLog } from '../audit/record.ts';
import { aclTokens } from '../credentials/acl-token.ts';
import { cluster } from '../credentials/cluster.ts';
import { partitions } from '../credentials/partition.ts';
import { users, userTokens } from '../credentials/user.ts';
import { catalogNodes } from '../peering/catalog/tables/catalog-node.ts';
import { catalogServices } from '../peering/catalog/tables/catalog-service.ts';
import { importProblems } from '../peering/catalog/tables/import-problem.ts';
import { importedServices } from '../peering/catalog/tables/imported-service.ts';
import { ttlChecks } from '../peering/catalog/tables/ttl-check.ts';
import { configEntries } from '../peering/config-entries/config-entry.ts';
import { peerings } from '../peering/record/record.ts';
import { acceptedSecrets, links, reservations, tombstones } from '../peering/record/secrets.ts';
import { trustBundles } from '../peering/record/trust-bundle.ts';
import { acknowledgments } from '../peering/trust/acknowledgment.ts';
import { authorities } from '../peering/trust/authority.ts';
import { defineSchema } from '../state/table.ts';
import { auditTrails, trailCommits } from '../team-access/audit.ts';
import { apiTokens, tokenUses } from '../team-access/tables/authentication-token.ts';
import { organizations } from '../team-access/tables/organization.ts';
import { memberships } from '../team-access/tables/organization-membership.ts';
import { projects } from '../team-access/tables/project.ts';
import { teamMembers, teams } from '../team-access/tables/team.ts';
import { teamWorkspaces } from '../team-access/tables/team-workspace.ts';
import { workspaces } from '../team-access/tables/workspace.ts';

/** All tables of the state. */
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
  acknowledgments,
  trustBundles,
  importedServices,
  importProblems,
  catalogNodes,
  catalogServices,
  ttlChecks,
  configEntries,
  organizations,
  projects,
  memberships,
  teams,
  teamMembers,
  workspaces,
  teamWorkspaces,
  apiTokens,
  tokenUses,
  auditLog,
  auditTrails,
  trailCommits,
]);
