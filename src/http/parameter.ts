/** Parameters declared as data, so that the handler and the API description use the same name. */
import { type TSchema, Type } from 'typebox';
import type { Query } from './call.ts';
import { ServiceError } from './errors.ts';

/** A query parameter, a header, or a path parameter. */
export interface Parameter {
  readonly name: string;
  /** One sentence for the API description. */
  readonly description: string;
  readonly schema: TSchema;
  /** Whether the presence of the parameter counts, with or without a value. */
  readonly flag?: true;
}

/** A query parameter whose value is an integer of 1 or more. */
export interface CountParameter extends Parameter {
  readonly maximum: number;
}

/** The largest number of nine digits, which exceeds every count. */
const COUNT_MAX = 999_999_999;

/** Declares a count. `fallback` is the default value in the API description. */
export function countParameter(
  name: string,
  description: string,
  { maximum = COUNT_MAX, fallback }: { readonly maximum?: number; readonly fallback?: number } = {},
): CountParameter {
  const bounds = { minimum: 1, maximum };
  const schema = Type.Integer(fallback === undefined ? bounds : { ...bounds, default: fallback });
  return { name, description, schema, maximum };
}

/** Reads a count from a query. Returns `undefined` if it is missing or empty. @throws ServiceError `bad-request` */
export function readCount(query: Query, { name, maximum }: CountParameter): number | undefined {
  const text = query.get(name);
  if (text === undefined || text === '') return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maximum) return count;
  const bound = maximum === COUNT_MAX ? '' : ` to ${maximum}`;
  throw new ServiceError('bad-request', `Invalid ${name} "${text}": want a whole number from 1${bound}`);
}
