/** `cas=`: changes an entry only while it is as the caller has last seen it. */
import { Type } from 'typebox';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Parameter } from '../../../http/parameter.ts';
import type { Query } from '../../../http/query.ts';
import type { Stored } from '../../../state/table.ts';

export const CAS: Parameter = {
  name: 'cas',
  description:
    'Only if the entry still has this ModifyIndex, or with 0 only if there is none; otherwise nothing is changed, and the answer is false.',
  schema: Type.Integer({ minimum: 0 }),
};

/**
 * The index; undefined: whatever is there. An empty one is refused: it is a variable that was not set, and would change
 * what the caller wanted to guard.
 * @throws ServiceError `bad-request`
 */
export function readCas(query: Query): number | undefined {
  const text = query.get(CAS.name);
  if (text === undefined) return undefined;
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const given = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
  throw new ServiceError('bad-request', `Invalid cas ${given}: want the ModifyIndex of the entry, or 0 for none`);
}

/** Whether the entry is as the caller says. */
export const isAsSeen = (stored: Stored<unknown> | undefined, cas: number | undefined): boolean =>
  cas === undefined || cas === (stored?.modifyIndex ?? 0);
