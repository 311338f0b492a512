/** What is registered with the local agent, checked and brought into the form in which it is kept. */
import { parseDuration } from '../../../http/v1/duration.ts';
import { CHECKS_MAX, NAME_CHARACTERS_MAX, TTL_MS_MAX, TTL_MS_MIN } from '../limits.ts';
import { readId, readNotes, readService, readStatus, readText, refused } from '../read-fields.ts';
import { type CheckStatus, TTL } from '../tables/check.ts';
import type { InstanceService } from '../tables/instance.ts';
import { type AgentCheckBody, type AgentServiceBody, REFUSED_CHECK_FIELDS } from './bodies.ts';

/** A check with its times. */
export interface GivenTtlCheck {
  readonly id: string;
  readonly name: string;
  readonly notes: string;
  /** As it begins; undefined: as it is, or critical where it is not there yet. */
  readonly status: CheckStatus | undefined;
  readonly type: typeof TTL;
  readonly ttlMs: number;
  /** Undefined: it stays, however long it is critical. */
  readonly deregisterAfterMs: number | undefined;
}

export interface AgentRegistration {
  readonly service: InstanceService;
  readonly checks: readonly GivenTtlCheck[];
}

/** @throws ServiceError `bad-request` */
export function readAgentService(body: AgentServiceBody): AgentRegistration {
  const { Name = '', Namespace = '', Check, Checks = [] } = body;
  if (Name === '') throw refused('Missing service name');
  if (Namespace !== '' && Namespace !== 'default')
    throw refused(`there is no namespace "${Namespace}": there are none`);
  const service = readService(body, Name);
  const given = [...(Check === undefined ? [] : [Check]), ...Checks].filter((check) => Object.keys(check).length > 0);
  if (given.length > CHECKS_MAX) throw refused(`${given.length} checks are too many, want at most ${CHECKS_MAX}`);
  const checks = given.map((check, i) => readCheck(check, service, given.length === 1 ? '' : `:${i + 1}`));
  if (new Set(checks.map(({ id }) => id)).size < checks.length) throw refused('two checks have one CheckID');
  return { service, checks };
}

function readCheck(given: AgentCheckBody, { id, name }: InstanceService, suffix: string): GivenTtlCheck {
  const filled = Object.entries(given).filter(([, value]) => Boolean(value));
  const refusedField = filled.map(([field]) => field).find((field) => REFUSED_CHECK_FIELDS.has(field));
  if (refusedField !== undefined) {
    throw refused(
      `Invalid check: this server does not run checks with ${refusedField}; want TTL, and reports of the service`,
    );
  }
  const { CheckID, Name, TTL: ttl = '', Status = '', Notes = '', DeregisterCriticalServiceAfter: after = '' } = given;
  return {
    id: readId('check', CheckID || `service:${id}${suffix}`),
    name: readText('check name', Name || `Service '${name}' check`, 2 * NAME_CHARACTERS_MAX),
    notes: readNotes(Notes),
    status: Status === '' ? undefined : readStatus(Status),
    type: TTL,
    ttlMs: readTime('TTL', ttl, TTL_MS_MIN),
    // No time at all means never, as it does to Consul's clients, which send it for a field that nobody has filled.
    deregisterAfterMs: after === '' ? undefined : readTime('DeregisterCriticalServiceAfter', after, 0) || undefined,
  };
}

function readTime(field: string, text: string, minimumMs: number): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= minimumMs && ms <= TTL_MS_MAX) return ms;
  const wanted = `want a duration such as 30s, from ${minimumMs} ms to ${TTL_MS_MAX / 86_400_000} days`;
  throw refused(`Invalid check: ${field} ${JSON.stringify(text.slice(0, NAME_CHARACTERS_MAX))}: ${wanted}`);
}
