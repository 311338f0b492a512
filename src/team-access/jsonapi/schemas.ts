/** Schemas of JSON:API documents for the API description. */
import { type TProperties, type TSchema, Type } from 'typebox';

const identifierSchema = (type: string): TSchema => Type.Object({ id: Type.String(), type: Type.Literal(type) });
const links = Type.Object({ related: Type.Optional(Type.String()), self: Type.Optional(Type.String()) });

/** The schema of a relationship to one resource or null. */
export const toOne = (type: string): TSchema =>
  Type.Object({ data: Type.Union([identifierSchema(type), Type.Null()]), links: Type.Optional(links) });

/** The schema of a relationship to one resource that a body must contain. */
export const toOneRequired = (type: string): TSchema => Type.Object({ data: identifierSchema(type) });

export const toMany = (type: string): TSchema =>
  Type.Object({ data: Type.Array(identifierSchema(type)), links: Type.Optional(links) });

export interface ResourceParts {
  readonly attributes: TProperties;
  readonly relationships?: TProperties;
}

/** The schema of a resource in an answer. */
export const resourceSchema = (type: string, title: string, { attributes, relationships }: ResourceParts) =>
  Type.Object(
    {
      id: Type.String(),
      type: Type.Literal(type),
      attributes: Type.Object(attributes),
      ...(relationships !== undefined && { relationships: Type.Object(relationships) }),
      links: Type.Optional(Type.Object({ self: Type.String() })),
    },
    { title },
  );

const included = Type.Optional(
  Type.Array(Type.Object({ id: Type.String(), type: Type.String() }, { additionalProperties: true })),
);

export const documentSchema = (resource: TSchema) => Type.Object({ data: resource, included });

const link = Type.Union([Type.String(), Type.Null()]);
const pageNumber = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);
const pageLinks = Type.Object({
  self: Type.String(),
  first: Type.String(),
  prev: link,
  next: link,
  last: Type.String(),
});
const pagination = Type.Object(
  {
    'current-page': Type.Integer(),
    'page-size': Type.Integer(),
    'prev-page': pageNumber,
    'next-page': pageNumber,
    'total-pages': Type.Integer({ minimum: 1 }),
    'total-count': Type.Integer({ minimum: 0 }),
  },
  { title: 'Pagination' },
);

/** The schema of a document with a page of resources. `meta` lists the members of its `meta` besides `pagination`. */
export const pageSchema = (resource: TSchema, meta: TProperties = {}) =>
  Type.Object({
    data: Type.Array(resource),
    included,
    links: Type.Optional(pageLinks),
    meta: Type.Optional(Type.Object({ ...meta, pagination })),
  });

export interface BodyParts {
  readonly attributes?: TProperties;
  readonly relationships?: TProperties;
  /** Names of required attributes. A body that requires some creates a resource, so its `type` is required too. */
  readonly required?: readonly string[];
}

/** The schema of a body that creates or updates a resource. */
export const bodySchema = (type: string, parts: BodyParts) => Type.Object({ data: resourceBodySchema(type, parts) });

/** The schema of the resource in such a body. The server ignores unknown attributes. */
export const resourceBodySchema = (type: string, { attributes, relationships, required = [] }: BodyParts) =>
  Type.Object(
    {
      type: required.length > 0 ? Type.Literal(type) : Type.Optional(Type.Literal(type)),
      ...(attributes !== undefined && {
        attributes: Type.Object(
          Object.fromEntries(
            Object.entries(attributes).map(([name, schema]) => [
              name,
              required.includes(name) ? schema : Type.Optional(schema),
            ]),
          ),
          { additionalProperties: true },
        ),
      }),
      ...(relationships !== undefined && { relationships: relationshipsBodySchema(relationships) }),
    },
    { additionalProperties: true },
  );

/** Returns an optional schema if every relationship is optional. */
function relationshipsBodySchema(relationships: TProperties): TSchema {
  const schema = Type.Object(relationships);
  return Object.values(relationships).every((one) => Type.IsOptional(one)) ? Type.Optional(schema) : schema;
}

/** The schema of a body with resource identifiers: `{"data":[{"type","id"}, …]}`. */
export const identifiersSchema = (type: string) => Type.Object({ data: Type.Array(identifierSchema(type)) });

/** The schema of a to-many relationship that may contain only a count; see `boundedLinkage`. */
export const toManyOrCount = (type: string): TSchema =>
  Type.Object({
    data: Type.Optional(Type.Array(identifierSchema(type))),
    meta: Type.Optional(
      Type.Object({
        count: Type.Integer({ description: 'Number of resources, when the document would be too large with `data`.' }),
      }),
    ),
  });
