/** Parameters as data: the code that reads one and the description of the API take its name from the same place. */
import { type TSchema, Type } from 'typebox';
import { ServiceError } from './errors.ts';
import type { Query } from './query.ts';

/** A query parameter, a header, or a parameter of the path. */
export interface Parameter {
  readonly name: string;
  /** One sentence for the API description. */
  readonly description: string;
  readonly schema: TSchema;
  /** It counts when it is there, without a value too. */
  readonly flag?: true;
}

/** A parameter that is a whole number from 1. */
export interface CountParameter extends Parameter {
  readonly maximum: number;
}

/** A count in nine digits: more than anything that can be counted here. */
const COUNT_MAX = 999_999_999;

/** Declares a count; `fallback` is what holds when it is not given, for the description. */
export function countParameter(
  name: string,
  description: string,
  { maximum = COUNT_MAX, fallback }: { readonly maximum?: number; readonly fallback?: number } = {},
): CountParameter {
  const bounds = { minimum: 1, maximum };
  const schema = Type.Integer(fallback === undefined ? bounds : { ...bounds, default: fallback });
  return { name, description, schema, maximum };
}

/** The count in a query; undefined when there is none, or an empty one. @throws ServiceError `bad-request` */
export function readCount(query: Query, { name, maximum }: CountParameter): number | undefined {
  const text = query.get(name);
  if (text === undefined || text === '') return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maximum) return count;
  const bound = maximum === COUNT_MAX ? '' : ` to ${maximum}`;
  throw new ServiceError('bad-request', `Invalid ${name} "${text}": want a whole number from 1${bound}`);
}
