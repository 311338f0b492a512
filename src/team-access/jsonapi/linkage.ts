/** How to-many relationships name what they lead to: all of it, or as far as a document of many resources has room. */
import { type TSchema, Type } from 'typebox';
import { LINKAGE_MAX } from '../limits.ts';
import { identifier } from './schemas.ts';

/** A relationship to several: which, or only how many. */
export interface Related {
  readonly data?: readonly { readonly id: string; readonly type: string }[];
  readonly meta?: { readonly count: number };
}

/** Names the resources of one relationship. */
export type Linkage = (type: string, ids: readonly string[]) => Related;

/** For a document about one resource: all of them. */
export const namesAll: Linkage = (type, ids) => ({ data: ids.map((id) => ({ id, type })) });

/**
 * For one document of many resources, each of which can have thousands: a relationship that would go past LINKAGE_MAX in
 * all says how many there are; the resource itself, read alone, has them. Nothing is named in part.
 */
export function namesSome(): Linkage {
  let left = LINKAGE_MAX;
  return (type, ids) => {
    if (ids.length > left) return { meta: { count: ids.length } };
    left -= ids.length;
    return namesAll(type, ids);
  };
}

/** The schema of such a relationship. */
export const toManyOrCount = (type: string): TSchema =>
  Type.Object({
    data: Type.Optional(Type.Array(identifier(type))),
    meta: Type.Optional(
      Type.Object({
        count: Type.Integer({ description: 'How many, in a document with no room for all; `data` is absent then.' }),
      }),
    ),
  });
