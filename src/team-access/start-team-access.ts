/** The team access service put together. */
import type { Call } from '../http/call.ts';
import type { Endpoint, OpenEndpoint } from '../http/endpoint.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { State } from '../state/state.ts';
import { auditTrailEndpoints } from './audit-trail/endpoints.ts';
import { completeSetEndpoints } from './bulk/complete-set/endpoints.ts';
import { operationEndpoints } from './bulk/operations/endpoints.ts';
import { effectiveAccessEndpoints } from './effective-access/endpoints.ts';
import { discoveryEndpoints } from './http/discovery.ts';
import { createRateLimit } from './http/rate-limit.ts';
import { recordTokenUses } from './http/record-token-uses.ts';
import { countUnserved, serveOpen, type TeamAccess } from './http/request-pipeline.ts';
import { membershipEndpoints } from './organization-memberships/endpoints.ts';
import { organizationEndpoints } from './organizations/endpoints.ts';
import { projectEndpoints } from './projects/endpoints.ts';
import { teamWorkspaceEndpoints } from './team-workspaces/endpoints.ts';
import { teamEndpoints } from './teams/endpoints.ts';
import { tokenEndpoints } from './tokens/endpoints.ts';
import { userEndpoints } from './users/endpoints.ts';
import { workspaceEndpoints } from './workspaces/endpoints.ts';

export interface TeamAccessOptions {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  /** `team-access.rate-limit` as it is now. */
  readonly rateLimit: () => number;
  /** `compat = terraform`. */
  readonly terraform: boolean;
}

export interface StartedTeamAccess extends AsyncDisposable {
  readonly endpoints: readonly Endpoint[];
  /** What the endpoints share. */
  readonly service: TeamAccess;
  /** Counts a request below `/api/v2/` that no endpoint takes; for `HttpServer.countUnserved`. */
  countUnserved(call: Call): readonly string[];
  /** An endpoint that answers anybody, with its requests counted. */
  counted(endpoint: OpenEndpoint): Endpoint;
  /** Resolves when the uses of tokens so far are written down. */
  usesWritten(): Promise<void>;
}

/** Starts it on a state that is loaded. Disposing it stops what goes on behind the requests. */
export function startTeamAccess({ state, clock, log, rateLimit, terraform }: TeamAccessOptions): StartedTeamAccess {
  const tokenUses = recordTokenUses(state, clock, log);
  const service: TeamAccess = { state, rateLimit: createRateLimit(clock, rateLimit), tokenUses, terraform, clock };
  return {
    service,
    endpoints: [
      ...discoveryEndpoints(service),
      ...organizationEndpoints(service),
      ...teamEndpoints(service),
      ...workspaceEndpoints(service),
      ...projectEndpoints(service),
      ...membershipEndpoints(service),
      ...tokenEndpoints(service),
      ...userEndpoints(service),
      ...teamWorkspaceEndpoints(service),
      ...completeSetEndpoints(service),
      ...operationEndpoints(service),
      ...effectiveAccessEndpoints(service),
      ...auditTrailEndpoints(service),
    ],
    countUnserved: (call) => countUnserved(service, call),
    counted: (endpoint) => ({ ...endpoint, handle: (call) => serveOpen(service, call, () => endpoint.handle(call)) }),
    usesWritten: () => tokenUses.written(),
    [Symbol.asyncDispose]: () => tokenUses[Symbol.asyncDispose](),
  };
}
