/** A JSON schema as rows of a table: one a field, nested ones by their path. */

/** The keywords that the descriptions of our APIs use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Fields as a Markdown table; empty where there are none. `requests`: tell which fields must be there. */
export function schemaTable(schema: Schema, { requests }: { readonly requests: boolean }): string {
  const rows = fieldsOf(schema, '', requests);
  if (rows.length === 0) return '';
  return ['| field | type | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

function fieldsOf(schema: Schema, under: string, requests: boolean): string[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = under + name;
    const must = requests && required.includes(name) ? ['Required.'] : [];
    const meaning = cell([...must, ...(field.description === undefined ? [] : [field.description])].join(' '));
    const row = `| \`${path}\` | ${typeOf(field)} | ${meaning} |`;
    return [row, ...nested(field, path, requests)];
  });
}

/** What stands below a field; that of a named schema stands with that name. */
function nested(field: Schema, path: string, requests: boolean): string[] {
  if (field.items !== undefined) return nested(field.items, `${path}[]`, requests);
  const alternatives = field.anyOf ?? [field];
  return alternatives.flatMap((one) => fieldsOf(one, `${path}.`, requests));
}

/** What a field holds, in words, with a link where that has a name. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schemaLink(schema.$ref);
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`;
  if (schema.patternProperties !== undefined) {
    return `object of ${Object.values(schema.patternProperties).map(typeOf).join(', ')}`;
  }
  return (schema.type ?? 'any') + bounds(schema);
}

function bounds({ minimum, maximum, maxLength }: Schema): string {
  if (maxLength !== undefined) return `, at most ${maxLength} characters`;
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  return minimum === undefined ? '' : `, from ${minimum}`;
}

/** `#/components/schemas/Peering` → a link to its section. */
function schemaLink(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return `[${name}](#schema-${name.toLowerCase()})`;
}

/** Text as it can stand in a cell of a table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
