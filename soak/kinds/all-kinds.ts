/** Every kind of thing that the workers write; a further one is one more line. */
import type { Answer } from '../../test/support/process/server.ts';
import type { Ask } from '../client.ts';
import { aclTokens } from './acl-token.ts';
import { intentionsOf } from './intention.ts';
import type { Kind } from './kind.ts';
import { partitions } from './partition.ts';
import { peerings } from './peering.ts';
import { servicesOf } from './service.ts';
import { makeTeamAccessWorld, teamAccessRows } from './team-access.ts';

/**
 * Prepares what they need in cluster `a` with the token of its site administrator. `request` is sent to a server there and
 * must succeed.
 */
export async function allKinds(admin: string, request: (ask: Ask) => Promise<Answer>): Promise<readonly Kind[]> {
  return [
    aclTokens,
    partitions,
    peerings,
    teamAccessRows(await makeTeamAccessWorld(admin, request)),
    servicesOf('a', 2),
    servicesOf('b', 1),
    intentionsOf('a', 1),
    intentionsOf('b', 1),
  ];
}
