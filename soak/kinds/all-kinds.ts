/** The kinds of resources that workers write. */
import type { Answer } from '../../test/support/process/server.ts';
import type { ApiRequest } from '../client.ts';
import { aclTokens } from './acl-token.ts';
import { intentionsOf } from './intention.ts';
import { partitions } from './partition.ts';
import { peerings } from './peering.ts';
import type { ResourceKind } from './resource-kind.ts';
import { servicesOf } from './service.ts';
import { createTeamAccessOrganization, teamAccessRows } from './team-access.ts';

/**
 * Creates what the kinds need in cluster `a`. `adminToken` belongs to its site administrator. `send` sends a request to
 * the cluster, and throws unless it succeeds.
 */
export async function allKinds(
  adminToken: string,
  send: (request: ApiRequest) => Promise<Answer>,
): Promise<readonly ResourceKind[]> {
  return [
    aclTokens,
    partitions,
    peerings,
    teamAccessRows(await createTeamAccessOrganization(adminToken, send)),
    servicesOf('a', 2),
    servicesOf('b', 1),
    intentionsOf('a', 1),
    intentionsOf('b', 1),
  ];
}
