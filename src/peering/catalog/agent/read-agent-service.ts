/** Validates registrations with the local agent and converts them to the stored form. */
import { parseDuration } from '../../../http/v1/duration.ts';
import { CHECKS_MAX, NAME_CHARACTERS_MAX, TTL_MS_MAX, TTL_MS_MIN } from '../limits.ts';
import { badRequest, readId, readNotes, readService, readStatus, readText } from '../read-fields.ts';
import { type CheckStatus, TTL_TYPE } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import { type AgentCheckBody, type AgentServiceBody, UNSUPPORTED_CHECK_FIELDS } from './request-schemas.ts';

export interface TtlCheckFields {
  readonly id: string;
  readonly name: string;
  readonly notes: string;
  /** Undefined: an existing check keeps its status, and a new one is critical ([SVC-50]). */
  readonly status: CheckStatus | undefined;
  readonly type: typeof TTL_TYPE;
  readonly ttlMs: number;
  /** Undefined: the service is never removed. */
  readonly deregisterAfterMs: number | undefined;
}

export interface AgentRegistration {
  readonly service: InstanceService;
  readonly checks: readonly TtlCheckFields[];
}

/** @throws ServiceError `bad-request` */
export function readAgentService(body: AgentServiceBody): AgentRegistration {
  const { Name = '', Namespace = '', Check, Checks = [] } = body;
  if (Name === '') throw badRequest('Missing service name');
  if (Namespace !== '' && Namespace !== 'default')
    throw badRequest(`unknown namespace "${Namespace}": namespaces are not supported`);
  const service = readService(body, Name);
  const given = [...(Check === undefined ? [] : [Check]), ...Checks].filter((check) => Object.keys(check).length > 0);
  if (given.length > CHECKS_MAX) throw badRequest(`${given.length} checks: want at most ${CHECKS_MAX}`);
  const checks = given.map((check, i) => readCheck(check, service, given.length === 1 ? '' : `:${i + 1}`));
  if (new Set(checks.map(({ id }) => id)).size < checks.length) throw badRequest('two checks have the same CheckID');
  return { service, checks };
}

function readCheck(given: AgentCheckBody, { id, name }: InstanceService, suffix: string): TtlCheckFields {
  const filled = Object.entries(given).filter(([, value]) => Boolean(value));
  const unsupportedField = filled.map(([field]) => field).find((field) => UNSUPPORTED_CHECK_FIELDS.has(field));
  if (unsupportedField !== undefined) {
    throw badRequest(
      `Invalid check: this server does not run checks with ${unsupportedField}; want TTL, and reports of the service`,
    );
  }
  const { CheckID, Name, TTL: ttl = '', Status = '', Notes = '', DeregisterCriticalServiceAfter: after = '' } = given;
  return {
    id: readId('check', CheckID || `service:${id}${suffix}`),
    name: readText('check name', Name || `Service '${name}' check`, 2 * NAME_CHARACTERS_MAX),
    notes: readNotes(Notes),
    status: Status === '' ? undefined : readStatus(Status),
    type: TTL_TYPE,
    ttlMs: readTime('TTL', ttl, TTL_MS_MIN),
    // Zero means never, because Consul's clients send it for an unset field.
    deregisterAfterMs: after === '' ? undefined : readTime('DeregisterCriticalServiceAfter', after, 0) || undefined,
  };
}

function readTime(field: string, text: string, minimumMs: number): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= minimumMs && ms <= TTL_MS_MAX) return ms;
  const wanted = `want a duration such as 30s, from ${minimumMs} ms to ${TTL_MS_MAX / 86_400_000} days`;
  throw badRequest(`Invalid check: ${field} ${JSON.stringify(text.slice(0, NAME_CHARACTERS_MAX))}: ${wanted}`);
}
