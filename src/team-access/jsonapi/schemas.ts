/** Schemas of JSON:API documents, for the API description. */
import { type TProperties, type TSchema, Type } from 'typebox';

/** What names one resource. */
export const identifier = (type: string): TSchema => Type.Object({ id: Type.String(), type: Type.Literal(type) });
const links = Type.Object({ related: Type.Optional(Type.String()), self: Type.Optional(Type.String()) });

/** A relationship to one resource, or to none yet. */
export const toOne = (type: string): TSchema =>
  Type.Object({ data: Type.Union([identifier(type), Type.Null()]), links: Type.Optional(links) });

/** A relationship to one resource, which must be named. */
export const toThat = (type: string): TSchema => Type.Object({ data: identifier(type) });

/** A relationship to several. */
export const toMany = (type: string): TSchema =>
  Type.Object({ data: Type.Array(identifier(type)), links: Type.Optional(links) });

/** What a resource shows. */
export interface ResourceParts {
  readonly attributes: TProperties;
  readonly relationships?: TProperties;
}

/** A resource as answers show it. */
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

/** A document with one resource. */
export const documentOf = (resource: TSchema) => Type.Object({ data: resource, included });

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

/** A document with a list of resources; `meta` is what it tells besides the pages. */
export const pageOf = (resource: TSchema, meta: TProperties = {}) =>
  Type.Object({
    data: Type.Array(resource),
    included,
    links: Type.Optional(pageLinks),
    meta: Type.Optional(Type.Object({ ...meta, pagination })),
  });

/** What a body can say of a resource. */
export interface BodyParts {
  readonly attributes?: TProperties;
  readonly relationships?: TProperties;
  /** What must be there. */
  readonly required?: readonly string[];
}

/** The body that makes or changes a resource. */
export const bodyOf = (type: string, parts: BodyParts) => Type.Object({ data: givenResourceOf(type, parts) });

/** A resource in a body that makes or changes it; attributes that are not known are ignored. */
export const givenResourceOf = (type: string, { attributes, relationships, required = [] }: BodyParts) =>
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
      ...(relationships !== undefined && { relationships: givenRelationships(relationships) }),
    },
    { additionalProperties: true },
  );

/** They can be left out where none has to be there. */
function givenRelationships(relationships: TProperties): TSchema {
  const schema = Type.Object(relationships);
  return Object.values(relationships).every((one) => Type.IsOptional(one)) ? Type.Optional(schema) : schema;
}

/** The body that names resources: `{"data":[{"type","id"}, …]}`. */
export const identifiersOf = (type: string) => Type.Object({ data: Type.Array(identifier(type)) });
