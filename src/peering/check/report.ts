/** What a connection check answers with. */
import { type Static, Type } from 'typebox';
import { CHECK_IDS, type CheckId, type FaultCode, faultCodes, faultOf } from './findings.ts';

const checkSchema = Type.Object({
  ID: Type.Enum([...CHECK_IDS], { description: 'What was checked.' }),
  Address: Type.Optional(Type.String({ description: 'Where, host:port; absent: what is checked is here.' })),
  Status: Type.Enum(['passed', 'failed', 'warning', 'skipped'], {
    description:
      'failed: keeps the peering from connecting. warning: does not, or not as long as another address works. skipped: not tried, since something before it failed, or the other side says nothing about it.',
  }),
  Code: Type.Optional(Type.Enum([...faultCodes], { description: 'What was found wrong; never changes its meaning.' })),
  Cause: Type.Optional(Type.String({ description: 'The same in words.' })),
  Mend: Type.Optional(Type.String({ description: 'What to do about it.' })),
  Detail: Type.Optional(Type.String({ description: 'What was seen.' })),
  DurationMs: Type.Optional(Type.Number({ description: 'How long it took.' })),
});

export const checkReportSchema = Type.Object({
  Name: Type.Optional(Type.String({ description: 'The peering; absent for the check of a token.' })),
  Healthy: Type.Boolean({ description: 'Nothing failed.' }),
  Checks: Type.Array(checkSchema),
});

export type Check = Static<typeof checkSchema>;
export type CheckReport = Static<typeof checkReportSchema>;

/** Something was as it must be. */
export const passed = (ID: CheckId, detail?: string): Check => ({ ID, Status: 'passed', ...detailed(detail) });

/** Something was not tried. */
export const skipped = (ID: CheckId, detail?: string): Check => ({ ID, Status: 'skipped', ...detailed(detail) });

/** Something is wrong. */
export function faulty(Code: FaultCode, detail?: string): Check {
  const { id, warning = false, cause, mend } = faultOf(Code);
  return {
    ID: id,
    Status: warning ? 'warning' : 'failed',
    Code,
    Cause: cause,
    Mend: mend,
    ...detailed(detail),
  };
}

/** The report of all checks. */
export function reportOf(checks: readonly Check[], name?: string): CheckReport {
  return {
    ...(name === undefined ? {} : { Name: name }),
    Healthy: checks.every(({ Status }) => Status !== 'failed'),
    Checks: [...checks],
  };
}

const detailed = (detail: string | undefined): Pick<Check, 'Detail'> =>
  detail === undefined ? {} : { Detail: detail };
