/**
 * Local ids (`lid`): names of what an earlier operation of the same request adds, good wherever an id is. While a request
 * is read each stands in for an id that is not there yet; when it runs, the id takes its place.
 */
import { JsonApiError } from '../../jsonapi/errors.ts';
import { isObject, type Json, wrong } from '../../jsonapi/read-resource.ts';

/** The local ids of a request so far. */
export interface LocalIds {
  /** Takes a local id for something that is added. @throws JsonApiError `invalid-body` when it is taken */
  declare(type: string, lid: string, pointer: string): string;
  /** The stand-in for what is named. @throws JsonApiError `invalid-body` when no earlier operation adds it */
  standIn(type: unknown, lid: unknown, pointer: string): string;
}

/** Those of a new request: none. */
export function createLocalIds(): LocalIds {
  const declared = new Set<string>();
  return {
    declare(type, lid, pointer) {
      const standIn = standInFor(type, lid);
      if (declared.has(standIn)) throw new JsonApiError([wrong(pointer, 'lid stands for something else already')]);
      declared.add(standIn);
      return standIn;
    },
    standIn(type, lid, pointer) {
      if (typeof type === 'string' && typeof lid === 'string') {
        const standIn = standInFor(type, lid);
        if (declared.has(standIn)) return standIn;
      }
      throw new JsonApiError([wrong(pointer, 'lid names nothing of that type that an earlier operation adds')]);
    },
  };
}

/** No id has a colon in it: who sends a stand-in as an id says the same in another way. */
const standInFor = (type: string, lid: string): string => `${type}:${lid}`;

/** The `data` of an operation with stand-ins for the local ids in its relationships. @throws JsonApiError */
export function withStandIns(data: unknown, lids: LocalIds): unknown {
  if (!isObject(data)) return data;
  const relationships = data['relationships'];
  if (!isObject(relationships)) return data;
  const replaced = Object.entries(relationships).map(([name, relationship]) => {
    if (!isObject(relationship)) return [name, relationship];
    const pointer = `/data/relationships/${escaped(name)}/data`;
    return [name, { ...relationship, data: namedWithStandIns(relationship['data'], lids, pointer) }];
  });
  return { ...data, relationships: Object.fromEntries(replaced) as Json };
}

/** A name as it stands in a JSON pointer (RFC 6901, 3). */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Likewise, of what names one thing or several. @throws JsonApiError */
export function namedWithStandIns(named: unknown, lids: LocalIds, pointer: string): unknown {
  if (!Array.isArray(named)) return hasLid(named) ? withStandIn(named, lids, pointer) : named;
  return named.map((one: unknown, i) => (hasLid(one) ? withStandIn(one, lids, `${pointer}/${i}`) : one));
}

const hasLid = (one: unknown): one is Json => isObject(one) && one['lid'] !== undefined;

function withStandIn({ type, id, lid }: Json, lids: LocalIds, pointer: string): Json {
  // They could name two things, and one of them would be changed without a word.
  if (id !== undefined) throw new JsonApiError([wrong(`${pointer}/lid`, 'want id or lid, not both')]);
  return { type, id: lids.standIn(type, lid, `${pointer}/lid`) };
}
