/** `?dry-run=true`: answers with what a change would come to, and changes nothing. */
import { Type } from 'typebox';
import type { Parameter } from '../http/parameter.ts';
import type { Query } from '../http/query.ts';
import { JsonApiError } from './jsonapi/errors.ts';

export const DRY_RUN: Parameter = {
  name: 'dry-run',
  description: '`true`: answers with what would change, and changes nothing.',
  schema: Type.Literal('true'),
};

/** @throws JsonApiError `bad-request` for anything but `true`: who means a dry run must not get the real thing */
export function readDryRun(query: Query): boolean {
  const value = query.get(DRY_RUN.name);
  if (value === undefined) return false;
  if (value === 'true') return true;
  throw new JsonApiError([{ code: 'bad-request', detail: 'dry-run must be true', parameter: DRY_RUN.name }]);
}
