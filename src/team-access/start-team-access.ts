/** Assembles the team access service. */
import type { Measured } from '../budget/measured.ts';
import type { Admission } from '../http/call.ts';
import type { Endpoint, OpenEndpoint } from '../http/endpoint.ts';
import { declaredFamilies } from '../http/query-rules.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { State } from '../state/state.ts';
import { auditTrailEndpoints } from './audit-trail/endpoints.ts';
import { completeSetEndpoints } from './bulk/complete-set/endpoints.ts';
import { operationEndpoints } from './bulk/operations/endpoints.ts';
import { effectiveAccessEndpoints } from './effective-access/endpoints.ts';
import { createAdmission } from './http/admission.ts';
import { discoveryEndpoints } from './http/discovery.ts';
import { createLargeWrites } from './http/large-writes.ts';
import { createOrganizationQuota } from './http/organization-quota.ts';
import { createRateLimit, type RateLimitSettings } from './http/rate-limit.ts';
import { recordTokenUses } from './http/record-token-uses.ts';
import { type Invitations, servePublic, type TeamAccessService } from './http/request-pipeline.ts';
import { membershipEndpoints } from './organization-memberships/endpoints.ts';
import { adminOrganizationEndpoints } from './organizations/admin-endpoints.ts';
import { organizationEndpoints } from './organizations/endpoints.ts';
import { projectEndpoints } from './projects/endpoints.ts';
import { teamWorkspaceEndpoints } from './team-workspaces/endpoints.ts';
import { teamEndpoints } from './teams/endpoints.ts';
import { tokenEndpoints } from './tokens/endpoints.ts';
import { userEndpoints } from './users/endpoints.ts';
import { workspaceEndpoints } from './workspaces/endpoints.ts';

/** The families of parameters with which JSON:API and HCP Terraform select data, whether or not an endpoint has them. */
const SELECTING_FAMILIES = ['filter', 'search', 'sort', 'include', 'fields', 'page', 'q'];

export interface TeamAccessOptions {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: RateLimitSettings;
  /** `limits.organizations-per-user`. */
  readonly organizationsPerUser: number;
  /** `team-access.invitations`. */
  readonly invitations: Invitations;
  /** Whether `compat` contains `terraform`. */
  readonly terraform: boolean;
}

export interface StartedTeamAccess extends AsyncDisposable {
  readonly endpoints: readonly Endpoint[];
  readonly service: TeamAccessService;
  /** For `HttpServer.admitWith`. */
  readonly admission: Admission;
  readonly budgets: readonly Measured[];
  /** Adds the check of the query to an endpoint that needs no token. */
  checked(endpoint: OpenEndpoint): Endpoint;
  /** Resolves when all token uses recorded so far are written. */
  usesWritten(): Promise<void>;
}

/** Starts the service on a loaded state. Disposal stops the recording of token uses. */
export function startTeamAccess(options: TeamAccessOptions): StartedTeamAccess {
  const { state, clock, log, settings, organizationsPerUser, invitations, terraform } = options;
  const tokenUses = recordTokenUses(state, clock, log);
  const rateLimit = createRateLimit(clock, settings);
  let families: ReadonlySet<string> = new Set();
  const service: TeamAccessService = {
    state,
    organizationQuota: createOrganizationQuota(organizationsPerUser),
    invitations,
    largeWrites: createLargeWrites(),
    tokenUses,
    terraform,
    clock,
    isSelecting: (family) => families.has(family),
  };
  const endpoints = [
    ...discoveryEndpoints(service),
    ...organizationEndpoints(service),
    ...adminOrganizationEndpoints(service),
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
  ];
  families = new Set([...declaredFamilies(endpoints), ...SELECTING_FAMILIES]);
  return {
    service,
    admission: createAdmission(state, rateLimit),
    budgets: [rateLimit, service.organizationQuota],
    endpoints,
    checked: (endpoint) => ({ ...endpoint, handle: (call) => servePublic(service, call, () => endpoint.handle(call)) }),
    usesWritten: () => tokenUses.flushed(),
    [Symbol.asyncDispose]: () => tokenUses[Symbol.asyncDispose](),
  };
}
