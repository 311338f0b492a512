/** Renders a JSON schema as a table with one row per field. Nested fields have their path as the name. */

/** The JSON schema keywords that Accord's OpenAPI documents use. */
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

/** Returns the fields as a Markdown table, or an empty string. `requests`: whether to mark required fields. */
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

/** Returns the rows of a field's own fields. Named schemas have a section of their own. */
function nested(field: Schema, path: string, requests: boolean): string[] {
  if (field.items !== undefined) return nested(field.items, `${path}[]`, requests);
  const alternatives = field.anyOf ?? [field];
  return alternatives.flatMap((one) => fieldsOf(one, `${path}.`, requests));
}

/** Describes the type of a field, with a link for a named schema. */
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

/** Escapes text for a table cell. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
