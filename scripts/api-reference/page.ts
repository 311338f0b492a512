/** Renders OpenAPI documents as one Markdown page. */
import { cell, type Schema, schemaTable, typeOf } from './schema-table.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** The part of an OpenAPI document that the page uses. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** One API and its introduction. */
export interface ApiSection {
  readonly title: string;
  readonly introduction: string;
  readonly described: Described;
}

const HEAD = `# API reference

This page lists every endpoint with its parameters, bodies, and answers. A server returns the same as OpenAPI 3.1 at
\`GET /v1/openapi.json\` and \`GET /api/v2/openapi.json\`. Errors are in [errors.md](errors.md). Do not edit this page:
\`npm run generate\` writes it.
`;

/** A parameter that a larger share of an API's endpoints has is listed once, above the endpoints. */
const COMMON_SHARE = 0.4;

export function apiReference(sections: readonly ApiSection[]): string {
  return `${[HEAD, ...sections.map(section)].join('\n').trimEnd()}\n`;
}

interface Endpoint extends Operation {
  readonly name: string;
}

function section({ title, introduction, described }: ApiSection): string {
  const endpoints = endpointsOf(described);
  const common = commonParameters(endpoints);
  const groups = Map.groupBy(endpoints, ({ tags }) => tags[0] ?? '');
  const shared = [...common.values()];
  return [
    `## ${title}\n`,
    `${introduction}\n`,
    ...(shared.length === 0 ? [] : [`Common parameters:\n`, `${parameterTable(shared)}\n`]),
    ...[...groups].flatMap(([tag, group]) => [
      `### \`${tag}\`\n`,
      ...group.map((endpoint) => endpointText(endpoint, common)),
    ]),
    ...Object.entries(described.components.schemas).map(
      ([name, schema]) => `### Schema ${name}\n\n${schemaTable(schema, { requests: false }) || `${typeOf(schema)}.`}\n`,
    ),
  ].join('\n');
}

function endpointsOf({ paths }: Described): Endpoint[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, name: `${method.toUpperCase()} ${path}` })),
  );
}

const keyOf = (parameter: Parameter): string => `${parameter.in} ${parameter.name} ${parameter.description}`;

/** Returns the parameters that many endpoints have, by key, without path parameters. */
function commonParameters(endpoints: readonly Endpoint[]): ReadonlyMap<string, Parameter> {
  const all = endpoints.flatMap(({ parameters }) => parameters).filter((parameter) => parameter.in !== 'path');
  const byKey = Map.groupBy(all, keyOf);
  const often = [...byKey].filter(([, uses]) => uses.length > endpoints.length * COMMON_SHARE);
  return new Map(often.flatMap(([key, [first]]) => (first === undefined ? [] : [[key, first] as const])));
}

function endpointText(
  { name, summary, parameters, requestBody, responses }: Endpoint,
  common: ReadonlyMap<string, Parameter>,
): string {
  const own = parameters.filter((parameter) => !common.has(keyOf(parameter)) && parameter.in !== 'path');
  const shared = parameters
    .filter((parameter) => common.has(keyOf(parameter)))
    .map((parameter) => `\`${parameter.name}\``);
  return [
    `#### \`${name}\`\n`,
    `${summary}.\n`,
    ...(own.length === 0 ? [] : [`${parameterTable(own)}\n`]),
    ...(shared.length === 0 ? [] : [`Common: ${shared.join(', ')}.\n`]),
    ...(requestBody === undefined ? [] : [bodyText(requestBody.content)]),
    answerText(responses),
  ].join('\n');
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, description = '', schema, in: place }) =>
      `| \`${name}\` | ${place} | ${typeOf(schema)} | ${cell(description)} |`,
  );
  return ['| parameter | in | type | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function bodyText(content: Content): string {
  return Object.values(content)
    .map(({ schema }) => {
      const table = schemaTable(schema, { requests: true });
      return table === '' ? `Body: ${typeOf(schema)}.\n` : `Body:\n\n${table}\n`;
    })
    .join('\n');
}

/** Describes the successful answers. */
function answerText(responses: Operation['responses']): string {
  const lines = Object.entries(responses)
    .filter(([status]) => Number(status) < 300)
    .map(([status, { content }]) => {
      const kinds = Object.entries(content ?? {}).map(([type, { schema }]) => answerOf(type, schema));
      return `Answers ${status}${kinds.length === 0 ? ', no body' : `: ${kinds.join('; ')}`}.`;
    });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function answerOf(type: string, schema: Schema): string {
  const { data } = schema.properties ?? {};
  const what = typeOf(data ?? schema);
  return type.includes('json') ? `${data === undefined ? '' : '`data`: '}${what}` : `${what} (${type})`;
}
