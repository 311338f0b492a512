/** The attributes of access as they stand in documents; with `compat = terraform` two names more. Pure. */
import { type TProperties, type TSchema, Type } from 'typebox';
import { ATTRIBUTE_NAMES, ATTRIBUTES, type AttributeName, type Attributes } from '../tables/access.ts';

/** `policy-mocks` as `compat = terraform` says it besides. */
const SENTINEL_MOCKS = 'sentinel-mocks';

/** An attribute under one of the names that documents have for it. */
export interface WireName {
  readonly name: AttributeName;
  readonly wire: string;
}

/** Every name that documents have, in order. */
export const wireNames = (terraform: boolean): readonly WireName[] => (terraform ? OF_TERRAFORM : PLAIN);

const PLAIN: readonly WireName[] = ATTRIBUTE_NAMES.filter((name) => name !== 'policy-overrides').map((name) => ({
  name,
  wire: name,
}));
const OF_TERRAFORM: readonly WireName[] = ATTRIBUTE_NAMES.flatMap((name): WireName[] => {
  const plain = { name, wire: name };
  return name === 'policy-mocks' ? [plain, { name, wire: SENTINEL_MOCKS }] : [plain];
});

/** The names of one attribute. */
export const wiresOf = (name: AttributeName, terraform: boolean): readonly string[] =>
  (terraform ? OF_TERRAFORM_BY_NAME : PLAIN_BY_NAME).get(name) ?? [];

const byName = (names: readonly WireName[]): ReadonlyMap<AttributeName, readonly string[]> =>
  new Map(ATTRIBUTE_NAMES.map((name) => [name, names.filter((one) => one.name === name).map(({ wire }) => wire)]));
const PLAIN_BY_NAME = byName(PLAIN);
const OF_TERRAFORM_BY_NAME = byName(OF_TERRAFORM);

/** How messages name an attribute. */
export const wireLabel = (name: AttributeName, terraform: boolean): string =>
  terraform && name === 'policy-mocks' ? 'Sentinel mocks' : ATTRIBUTES[name].label;

/** Attributes under all their names. */
export function shownAttributes(
  attributes: Attributes,
  terraform: boolean,
): Readonly<Record<string, string | boolean>> {
  const shown: Record<string, string | boolean> = {};
  for (const { name, wire } of wireNames(terraform)) shown[wire] = attributes[name];
  return shown;
}

/** Their schemas, for the API description. */
export const attributeProperties = (terraform: boolean): TProperties =>
  Object.fromEntries(wireNames(terraform).map(({ name, wire }) => [wire, valueSchema(name)]));

function valueSchema(name: AttributeName): TSchema {
  const { values } = ATTRIBUTES[name];
  return typeof values[0] === 'boolean' ? Type.Boolean() : Type.Enum(values.map(String));
}
