/** `?dry-run`, or `?dry-run=true`: answers with what a change would come to, and changes nothing. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { JsonApiError } from '../jsonapi/errors.ts';

/** The parameter, for the API description. */
export const DRY_RUN: Parameter = {
  name: 'dry-run',
  description: 'Without a value or `true`: answers with what would change, and changes nothing.',
  schema: Type.Literal('true'),
  flag: true,
};

/** @throws JsonApiError `bad-request` for another value than `true` and none: who means a dry run must not get the real thing */
export function readDryRun(query: Query): boolean {
  const value = query.get(DRY_RUN.name);
  if (value === undefined) return false;
  if (value === '' || value === 'true') return true;
  throw badDryRun('dry-run must be true, or stand without a value');
}

/** For writes that have no dry run. @throws JsonApiError `bad-request` where one is asked for, for the same reason */
export function refuseDryRun(query: Query): void {
  if (query.has(DRY_RUN.name)) throw badDryRun('there is no dry run of this request');
}

const badDryRun = (detail: string): JsonApiError =>
  new JsonApiError([{ code: 'bad-request', detail, parameter: DRY_RUN.name }]);
