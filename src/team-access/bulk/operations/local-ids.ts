/**
 * Local IDs (`lid`) of resources that earlier operations of the same request add [TEAM-66]. Reading a request replaces
 * each with a placeholder, and running the request replaces the placeholder with the ID of the added resource.
 */
import { JsonApiError } from '../../jsonapi/errors.ts';
import { bodyError, isObject, type JsonObject } from '../../jsonapi/read-resource.ts';

/** The local IDs that the operations of a request have declared so far. */
export interface LocalIds {
  /** Declares a local ID and returns its placeholder. @throws JsonApiError `invalid-body` if it is declared already */
  declare(type: string, lid: string, pointer: string): string;
  /** Returns the placeholder of a local ID. @throws JsonApiError `invalid-body` if no earlier operation declares it */
  placeholder(type: unknown, lid: unknown, pointer: string): string;
}

export function createLocalIds(): LocalIds {
  const declared = new Set<string>();
  return {
    declare(type, lid, pointer) {
      const placeholder = placeholderFor(type, lid);
      if (declared.has(placeholder)) throw new JsonApiError([bodyError(pointer, 'lid is declared twice')]);
      declared.add(placeholder);
      return placeholder;
    },
    placeholder(type, lid, pointer) {
      if (typeof type === 'string' && typeof lid === 'string') {
        const placeholder = placeholderFor(type, lid);
        if (declared.has(placeholder)) return placeholder;
      }
      throw new JsonApiError([bodyError(pointer, 'lid is not declared by an earlier operation that adds this type')]);
    },
  };
}

/** Returns `TYPE:LID`. IDs have no colon, so a client that sends a placeholder as an ID names the same resource. */
const placeholderFor = (type: string, lid: string): string => `${type}:${lid}`;

/** Replaces the local IDs in the relationships of an operation's `data`. @throws JsonApiError `invalid-body` */
export function withPlaceholders(data: unknown, lids: LocalIds): unknown {
  if (!isObject(data)) return data;
  const relationships = data['relationships'];
  if (!isObject(relationships)) return data;
  const replaced = Object.entries(relationships).map(([name, relationship]) => {
    if (!isObject(relationship)) return [name, relationship];
    const pointer = `/data/relationships/${escaped(name)}/data`;
    return [name, { ...relationship, data: identifiersWithPlaceholders(relationship['data'], lids, pointer) }];
  });
  return { ...data, relationships: Object.fromEntries(replaced) as JsonObject };
}

/** Escapes a name for a JSON pointer (RFC 6901, section 3). */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Replaces the local IDs in one identifier or an array of identifiers. @throws JsonApiError `invalid-body` */
export function identifiersWithPlaceholders(identifiers: unknown, lids: LocalIds, pointer: string): unknown {
  if (!Array.isArray(identifiers))
    return hasLid(identifiers) ? identifierWithPlaceholder(identifiers, lids, pointer) : identifiers;
  return identifiers.map((one: unknown, i) =>
    hasLid(one) ? identifierWithPlaceholder(one, lids, `${pointer}/${i}`) : one,
  );
}

const hasLid = (one: unknown): one is JsonObject => isObject(one) && one['lid'] !== undefined;

function identifierWithPlaceholder({ type, id, lid }: JsonObject, lids: LocalIds, pointer: string): JsonObject {
  // The two could name different resources.
  if (id !== undefined) throw new JsonApiError([bodyError(`${pointer}/lid`, 'want id or lid, not both')]);
  return { type, id: lids.placeholder(type, lid, `${pointer}/lid`) };
}
