/** Collects schemas that have a `title`, so that a document defines each once and references it elsewhere. */

export interface NamedSchemas {
  /** Returns the schema with titled schemas replaced by references. @throws TypeError if two have the same title */
  reference(schema: object): object;
  all(): Readonly<Record<string, object>>;
}

/** Creates an empty collection. `location` is the start of references, such as `#/components/schemas`. */
export function createNamedSchemas(location: string): NamedSchemas {
  const named = new Map<string, { readonly source: object; schema: object }>();

  function refer(schema: object): object {
    const { title } = schema as { readonly title?: unknown };
    if (typeof title !== 'string') return mapObjects(schema, refer);
    const known = named.get(title);
    if (known === undefined) {
      const entry = { source: schema, schema };
      named.set(title, entry);
      entry.schema = mapObjects(schema, refer);
    } else if (known.source !== schema) {
      throw new TypeError(`two schemas have the title ${title}`);
    }
    return { $ref: `${location}/${title}` };
  }

  return {
    reference: refer,
    all: () => Object.fromEntries([...named].map(([title, { schema }]) => [title, schema])),
  };
}

function mapObjects(value: object, replace: (inner: object) => object): object {
  const replaced = (inner: unknown): unknown => (typeof inner === 'object' && inner !== null ? replace(inner) : inner);
  if (Array.isArray(value)) return value.map(replaced);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]));
}
