/** Schemas that are described once: each one with a `title` gets a place of its own and is referred to everywhere else. */

export interface NamedSchemas {
  /** The schema as it stands in a document: what has a title is a reference. @throws TypeError for a title given twice */
  refer(schema: object): object;
  /** Everything that was referred to, by title. */
  all(): Readonly<Record<string, object>>;
}

/** Starts a collection; references lead to `place`, such as `#/components/schemas`. */
export function namedSchemas(place: string): NamedSchemas {
  const named = new Map<string, { readonly source: object; schema: object }>();

  function refer(schema: object): object {
    const { title } = schema as { readonly title?: unknown };
    if (typeof title !== 'string') return mapped(schema, refer);
    const known = named.get(title);
    if (known === undefined) {
      const entry = { source: schema, schema };
      named.set(title, entry);
      entry.schema = mapped(schema, refer);
    } else if (known.source !== schema) {
      throw new TypeError(`two schemas have the title ${title}`);
    }
    return { $ref: `${place}/${title}` };
  }

  return {
    refer,
    all: () => Object.fromEntries([...named].map(([title, { schema }]) => [title, schema])),
  };
}

/** A copy with every object in it replaced. */
function mapped(value: object, replace: (inner: object) => object): object {
  const replaced = (inner: unknown): unknown => (typeof inner === 'object' && inner !== null ? replace(inner) : inner);
  if (Array.isArray(value)) return value.map(replaced);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]));
}
