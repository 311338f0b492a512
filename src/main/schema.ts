import { auditLog } from '../audit/record.ts';
import { aclTokens } from '../credentials/acl-token.ts';
import { cluster } from '../credentials/cluster.ts';
import { partitions } from '../credentials/partition.ts';
import { users, userTokens } from '../credentials/user.ts';
import { catalogNodes } from '../peering/catalog/catalog-node.ts';
import { catalogServices } from '../peering/catalog/catalog-service.ts';
import { importProblems } from '../peering/catalog/import-problem.ts';
import { importedServices } from '../peering/catalog/imported-service.ts';
import { ttlChecks } from '../peering/catalog/ttl-check.ts';
import { configEntries } from '../peering/entries/config-entry.ts';
import { peerings } from '../peering/record.ts';
import { acceptedSecrets, links, reservations, tombstones } from '../peering/secrets.ts';
import { acknowledgements } from '../peering/trust/acknowledgement.ts';
import { authorities } from '../peering/trust/authority.ts';
import { trustBundles } from '../peering/trust-bundle.ts';
import { defineSchema } from '../state/table.ts';
import { auditTrails, trailCommits } from '../team-access/audit-trail/trail.ts';
import { memberships } from '../team-access/organization-memberships/membership.ts';
import { organizations } from '../team-access/organizations/organization.ts';
import { projects } from '../team-access/projects/project.ts';
import { teamWorkspaces } from '../team-access/team-workspaces/team-workspace.ts';
import { teams } from '../team-access/teams/team.ts';
import { teamMembers } from '../team-access/teams/team-member.ts';
import { apiTokens } from '../team-access/tokens/token.ts';
import { tokenUses } from '../team-access/tokens/token-use.ts';
import { workspaces } from '../team-access/workspaces/workspace.ts';

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
