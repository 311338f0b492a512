/** The report of a connection check ([PEER-94], [PEER-95]). */
import { type Static, Type } from 'typebox';
import { CHECK_IDS, type CheckId, type FindingCode, findingCodes, findingOf } from './findings.ts';

const checkSchema = Type.Object({
  ID: Type.Enum([...CHECK_IDS], { description: 'The check.' }),
  Address: Type.Optional(
    Type.String({ description: 'The address checked, host:port. Absent for checks of this cluster.' }),
  ),
  Status: Type.Enum(['passed', 'failed', 'warning', 'skipped'], {
    description:
      'failed: prevents the peering from connecting. warning: does not, or not while another address works. skipped: not checked, because an earlier check failed or the other side does not report it.',
  }),
  Code: Type.Optional(Type.Enum([...findingCodes], { description: 'The finding. A code never changes its meaning.' })),
  Cause: Type.Optional(Type.String({ description: 'The finding in words.' })),
  Remedy: Type.Optional(Type.String({ description: 'How to fix the problem.' })),
  Mend: Type.Optional(
    Type.String({ deprecated: true, description: 'Deprecated: the same as Remedy. The next version removes it.' }),
  ),
  Detail: Type.Optional(Type.String({ description: 'What the check observed.' })),
  DurationMs: Type.Optional(Type.Number({ description: 'The duration of the check, in milliseconds.' })),
});

export const checkReportSchema = Type.Object({
  Name: Type.Optional(Type.String({ description: 'The peering. Absent for the check of a token.' })),
  Healthy: Type.Boolean({ description: 'Whether no check failed.' }),
  Checks: Type.Array(checkSchema),
});

export type Check = Static<typeof checkSchema>;
export type CheckReport = Static<typeof checkReportSchema>;

export const passed = (ID: CheckId, detail?: string): Check => ({ ID, Status: 'passed', ...optionalDetail(detail) });

export const skipped = (ID: CheckId, detail?: string): Check => ({ ID, Status: 'skipped', ...optionalDetail(detail) });

export function finding(Code: FindingCode, detail?: string): Check {
  const { id, warning = false, cause, remedy } = findingOf(Code);
  return {
    ID: id,
    Status: warning ? 'warning' : 'failed',
    Code,
    Cause: cause,
    Remedy: remedy,
    Mend: remedy,
    ...optionalDetail(detail),
  };
}

export function reportOf(checks: readonly Check[], name?: string): CheckReport {
  return {
    ...(name === undefined ? {} : { Name: name }),
    Healthy: checks.every(({ Status }) => Status !== 'failed'),
    Checks: [...checks],
  };
}

const optionalDetail = (detail: string | undefined): Pick<Check, 'Detail'> =>
  detail === undefined ? {} : { Detail: detail };

/** The result of a connection step. Without a value, the next steps cannot run. */
export interface Step<T> {
  readonly check: Check;
  readonly value?: T;
}

export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'failed'; readonly error: NodeJS.ErrnoException };

/** Awaits a promise that rejects only with an Error. @param signal the time limit of the operation */
export async function outcomeOf<T>(promise: Promise<T>, signal: AbortSignal): Promise<Outcome<T>> {
  try {
    return { kind: 'done', value: await promise };
  } catch (error) {
    return signal.aborted ? { kind: 'timed-out' } : { kind: 'failed', error: error as Error };
  }
}
