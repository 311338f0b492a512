/**
 * Compiles a filter expression for items of one schema, and evaluates it. Selectors are checked against the schema, so a
 * name that no item has is an error instead of a filter that matches nothing.
 *
 * A selector that leads through a list compares every element: the comparison holds if it holds for one of them. A
 * missing key of a map equals nothing, contains nothing and is empty. A missing optional field has the zero value.
 */
import { RE2JS } from 're2js';
import type { TSchema } from 'typebox';
import { ServiceError } from '../errors.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { FILTER_MATCH_WORK, FILTER_REGEX_INSTRUCTIONS_MAX, FILTER_WORK_MAX } from './limits.ts';
import { type Expression, filterError, type MatchOperator, type Path, parseFilter } from './parse-filter.ts';

/** The work that one evaluation over a list has done so far. */
export interface FilterWork {
  units: number;
}

export interface Filter {
  /** The expression, as in the request. */
  readonly text: string;
  /** @throws ServiceError `bad-request` if the evaluation over the list takes more than its share of time */
  matches(item: unknown, work: FilterWork): boolean;
}

/** Adds work. @throws ServiceError `bad-request` */
export function addWork(work: FilterWork, units: number): void {
  work.units += units;
  if (work.units > FILTER_WORK_MAX)
    throw new ServiceError('bad-request', 'The filter has too much to compare: ask for less, such as one service', {
      parameter: 'filter',
    });
}

/** The root item, then the values that the surrounding `any` and `all` bind. */
type Scope = readonly unknown[];
type Test = (scope: Scope, work: FilterWork) => boolean;

/** A name that an `any` or `all` binds, with the place of its value in the scope. */
interface Binding {
  readonly name: string;
  readonly slot: number;
  readonly field: Field;
}

type Scalar = 'string' | 'number' | 'boolean';
type Field =
  | { readonly kind: Scalar }
  | { readonly kind: 'list' | 'map'; readonly of: Field }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Field> };

interface Schema {
  readonly type?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

/** Compiles an expression for items of a schema. @throws ServiceError `bad-request` */
export function compileFilter(text: string, itemSchema: TSchema): Filter {
  const root = fieldOf(itemSchema as Schema);
  const test = compile(parseFilter(text), { root, bindings: [], scopeLength: 1 });
  return { text, matches: (item, work) => test([item], work) };
}

function fieldOf(schema: Schema): Field {
  const { type, items, properties, patternProperties, anyOf } = schema;
  if (anyOf !== undefined) {
    const objects = anyOf.map(fieldOf);
    const fields = objects.flatMap((field) => (field.kind === 'object' ? [...field.fields] : []));
    return fields.length === 0 ? (objects[0] ?? { kind: 'string' }) : { kind: 'object', fields: new Map(fields) };
  }
  if (type === 'array' && items !== undefined) return { kind: 'list', of: fieldOf(items) };
  const [values] = Object.values(patternProperties ?? {});
  if (values !== undefined) return { kind: 'map', of: fieldOf(values) };
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([name, property]) => [name, fieldOf(property)] as const);
    return { kind: 'object', fields: new Map(fields) };
  }
  if (type === 'integer' || type === 'number') return { kind: 'number' };
  return { kind: type === 'boolean' || typeof schema.const === 'boolean' ? 'boolean' : 'string' };
}

interface CompileContext {
  readonly root: Field;
  readonly bindings: readonly Binding[];
  readonly scopeLength: number;
}

function compile(expression: Expression, context: CompileContext): Test {
  switch (expression.kind) {
    case 'or': {
      const tests = expression.parts.map((part) => compile(part, context));
      return (scope, work) => tests.some((test) => test(scope, work));
    }
    case 'and': {
      const tests = expression.parts.map((part) => compile(part, context));
      return (scope, work) => tests.every((test) => test(scope, work));
    }
    case 'not': {
      const test = compile(expression.of, context);
      return (scope, work) => !test(scope, work);
    }
    case 'match':
      return compileMatch(expression, context);
    default:
      return compileCollection(expression, context);
  }
}

/** A resolved selector: where to begin in the scope, the path from there, and what it leads to. */
interface Target {
  readonly slot: number;
  readonly steps: readonly Step[];
  readonly field: Field;
}

interface Step {
  readonly key: string;
  /** The field that the key is looked up in. */
  readonly within: 'object' | 'map' | 'list';
  /** Whether the lookup applies to each element of a list. */
  readonly field: Field;
}

function resolve(selector: Path, { root, bindings }: CompileContext): Target {
  const binding = bindings.findLast(({ name }) => name === selector[0]);
  const path = binding === undefined ? selector : selector.slice(1);
  const steps: Step[] = [];
  let field = binding?.field ?? root;
  for (const key of path) {
    const isIndex = field.kind === 'list' && /^\d+$/.test(key);
    // A name in the path of a list applies to its elements.
    while (field.kind === 'list' && !isIndex) field = field.of;
    const next = isIndex ? elementOf(field) : childOf(field, key);
    if (next === undefined) throw filterError(`Selector "${selectorText(selector)}" is not valid`);
    steps.push({ key, within: field.kind as Step['within'], field: next });
    field = next;
  }
  return { slot: binding?.slot ?? 0, steps, field };
}

const selectorText = (selector: Path): string => selector.join('.').slice(0, QUOTED_LENGTH_MAX);

function childOf(field: Field, key: string): Field | undefined {
  if (field.kind === 'object') return field.fields.get(key);
  return field.kind === 'map' ? field.of : undefined;
}

const elementOf = (field: Field): Field | undefined => (field.kind === 'list' ? field.of : undefined);

/** A key that a map or a list does not have. */
const MISSING = Symbol('missing');

/** Whether `test` holds for the value at the path, or for one of the values if the path leads through a list. */
function someValue(value: unknown, steps: readonly Step[], at: number, test: (value: unknown) => boolean): boolean {
  const step = steps[at];
  if (step === undefined) return test(value);
  if (Array.isArray(value) && step.within !== 'list')
    return value.some((element) => someValue(element, steps, at, test));
  const container = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isMissing = !Object.hasOwn(container, step.key);
  if (isMissing && step.within !== 'object') return test(MISSING);
  return someValue(isMissing ? zeroOf(step.field) : container[step.key], steps, at + 1, test);
}

function zeroOf({ kind }: Field): unknown {
  if (kind === 'string') return '';
  if (kind === 'number') return 0;
  if (kind === 'boolean') return false;
  return kind === 'list' ? [] : {};
}

const NEGATED: Readonly<Record<MatchOperator, string>> = {
  '==': '!=',
  in: 'not in',
  'is empty': 'is not empty',
  matches: 'not matches',
};

function compileMatch(
  { operator, negated, selector, value }: Extract<Expression, { kind: 'match' }>,
  context: CompileContext,
): Test {
  const { slot, steps, field } = resolve(selector, context);
  const test = comparison(operator, field, value, () => {
    return filterError(
      `Invalid match operator "${negated ? NEGATED[operator] : operator}" for selector "${selectorText(selector)}"`,
    );
  });
  return (scope, work) =>
    someValue(scope[slot], steps, 0, (found) => {
      addWork(work, FILTER_MATCH_WORK);
      if (found === MISSING) return (operator === 'is empty') !== negated;
      return test(found, work) !== negated;
    });
}

type Comparison = (found: unknown, work: FilterWork) => boolean;

function comparison(operator: MatchOperator, field: Field, value: string, unsupported: () => ServiceError): Comparison {
  switch (operator) {
    case '==': {
      if (!isScalar(field)) throw unsupported();
      const wanted = coerce(value, field.kind);
      return (found) => found === wanted;
    }
    case 'in':
      return containment(field, value, unsupported);
    case 'is empty':
      if (field.kind === 'number' || field.kind === 'boolean' || field.kind === 'object') throw unsupported();
      return (found) =>
        typeof found === 'string' || Array.isArray(found)
          ? found.length === 0
          : Object.keys(found as object).length === 0;
    default: {
      if (field.kind !== 'string') throw unsupported();
      const { pattern, instructions } = compileRegex(value);
      return (found, work) => {
        const text = String(found);
        // In the worst case every instruction runs for every character.
        addWork(work, (text.length + 1) * instructions);
        return pattern.test(text);
      };
    }
  }
}

function containment(field: Field, value: string, unsupported: () => ServiceError): Comparison {
  if (field.kind === 'string') return (found) => String(found).includes(value);
  if (field.kind === 'map') return (found) => Object.hasOwn(found as object, value);
  if (field.kind !== 'list' || !isScalar(field.of)) throw unsupported();
  const wanted = coerce(value, field.of.kind);
  return (found, work) => {
    const list = found as readonly unknown[];
    addWork(work, list.length);
    return list.includes(wanted);
  };
}

const isScalar = (field: Field): field is Extract<Field, { kind: Scalar }> =>
  field.kind === 'string' || field.kind === 'number' || field.kind === 'boolean';

/** The spellings of booleans that Go accepts. */
const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function coerce(value: string, kind: Scalar): string | number | boolean {
  if (kind === 'string') return value;
  const quoted = JSON.stringify(value.slice(0, QUOTED_LENGTH_MAX));
  if (kind === 'boolean') {
    if (TRUE.has(value)) return true;
    if (FALSE.has(value)) return false;
    throw filterError(`strconv.ParseBool: parsing ${quoted}: invalid syntax`);
  }
  if (/^[+-]?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  throw filterError(`strconv.ParseInt: parsing ${quoted}: invalid syntax`);
}

/** Compiles a regular expression in the syntax of RE2, which matches in linear time. */
function compileRegex(text: string): { readonly pattern: RE2JS; readonly instructions: number } {
  const quoted = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(text);
  } catch (error) {
    throw filterError(`Failed to compile regular expression ${quoted}: ${(error as Error).message}`);
  }
  const instructions = pattern.programSize();
  if (instructions > FILTER_REGEX_INSTRUCTIONS_MAX)
    throw filterError(`Failed to compile regular expression ${quoted}: expression too large`);
  return { pattern, instructions };
}

function compileCollection(
  { kind, selector, names, of }: Extract<Expression, { kind: 'any' | 'all' }>,
  context: CompileContext,
): Test {
  const { slot, steps, field } = resolve(selector, context);
  if (field.kind !== 'list' && field.kind !== 'map')
    throw filterError(`Invalid collection operator "${kind}" for selector "${selectorText(selector)}"`);
  const key: Field = { kind: field.kind === 'list' ? 'number' : 'string' };
  const { scopeLength } = context;
  // A single name is the value of a list and the key of a map.
  const [keyName, valueName] = names.length === 2 ? names : field.kind === 'list' ? ['_', names[0]] : [names[0], '_'];
  const bindings: readonly Binding[] = [
    ...context.bindings,
    { name: keyName, slot: scopeLength, field: key },
    { name: valueName, slot: scopeLength + 1, field: field.of },
  ].filter(({ name }) => name !== '_');
  const test = compile(of, { root: context.root, bindings, scopeLength: scopeLength + 2 });
  const isAll = kind === 'all';
  return (scope, work) =>
    someValue(scope[slot], steps, 0, (found) => {
      if (found === MISSING) return isAll;
      const entries: readonly (readonly [unknown, unknown])[] = Array.isArray(found)
        ? [...found.entries()]
        : Object.entries(found as object);
      addWork(work, entries.length);
      const holds = ([index, value]: readonly [unknown, unknown]): boolean => test([...scope, index, value], work);
      return isAll ? entries.every(holds) : entries.some(holds);
    });
}
