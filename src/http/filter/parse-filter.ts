/**
 * Parses filter expressions in the grammar of go-bexpr: `Service.Tags contains "v1" and not (Node.Meta["rack"] == 7)`.
 * `and` binds more strongly than `or`. The parser tries alternatives in order and reports the place that it reached.
 */
import { ServiceError } from '../errors.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { FILTER_CHARACTERS_MAX, FILTER_DEPTH_MAX } from './limits.ts';

export type Path = readonly [string, ...string[]];

/** The operators of a comparison. `contains` is `in` with its sides exchanged. */
export type MatchOperator = '==' | 'in' | 'is empty' | 'matches';

export type Expression =
  | { readonly kind: 'or' | 'and'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly of: Expression }
  | {
      readonly kind: 'match';
      readonly operator: MatchOperator;
      readonly negated: boolean;
      readonly selector: Path;
      /** Empty for `is empty`. */
      readonly value: string;
    }
  | {
      readonly kind: 'any' | 'all';
      readonly selector: Path;
      /** The names of the element: one name, or the names of its key or index and of its value. `_` names nothing. */
      readonly names: readonly [string] | readonly [string, string];
      readonly of: Expression;
    };

type Match = Extract<Expression, { kind: 'match' }>;

/** Returns the error of an expression that cannot be used, in the words of go-bexpr. */
export const filterError = (reason: string): ServiceError =>
  new ServiceError('bad-request', `Failed to create boolean expression evaluator: ${reason}`, { parameter: 'filter' });

const SPACE = /[ \t\r\n]+/y;
const IDENTIFIER = /[a-zA-Z][a-zA-Z0-9_/]*/y;
const INDEX = /\.([0-9]+)/y;
const POINTER = /"((?:\/[\p{L}\p{N}_.~:|-]+)+)"/uy;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?=[ \t\r\n)}]|$)/y;
const RAW_STRING = /`([^`]*)`/y;
const STRING = /"((?:[^"\\\n]|\\.)*)"/y;
const WORD_END = /[^a-zA-Z0-9_/]|$/y;

/** The operators between a selector and a value. Longer ones come first. */
const WITH_VALUE: readonly (readonly [words: readonly string[], operator: MatchOperator, negated: boolean])[] = [
  [['not', 'contains'], 'in', true],
  [['contains'], 'in', false],
  [['not', 'matches'], 'matches', true],
  [['matches'], 'matches', false],
];

/** @throws ServiceError `bad-request` */
export function parseFilter(text: string): Expression {
  if (text.length > FILTER_CHARACTERS_MAX) {
    throw filterError(`the expression has ${text.length} characters, want at most ${FILTER_CHARACTERS_MAX}`);
  }
  const parser = new FilterParser(text);
  return parser.parse();
}

/** One parse. Methods return `undefined`, and leave the position, if the text does not match. */
class FilterParser {
  readonly #text: string;
  #at = 0;
  /** The place that a parse reached, for the error message. */
  #furthest = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Expression {
    this.#space();
    const expression = this.#or();
    this.#space();
    if (expression === undefined || this.#at < this.#text.length) throw this.#noMatch();
    return expression;
  }

  #noMatch(): ServiceError {
    const at = Math.max(this.#at, this.#furthest);
    const near = this.#text.slice(at, at + QUOTED_LENGTH_MAX);
    return filterError(`1:${at + 1} (${at}): no match found${near === '' ? '' : ` at ${JSON.stringify(near)}`}`);
  }

  #or(): Expression | undefined {
    return this.#chain('or', () => this.#chain('and', () => this.#not()));
  }

  #chain(kind: 'or' | 'and', next: () => Expression | undefined): Expression | undefined {
    const first = next();
    if (first === undefined) return undefined;
    const parts = [first];
    for (;;) {
      const part = this.#attempt(() => (this.#space() && this.#word(kind) && this.#space() ? next() : undefined));
      if (part === undefined) return parts.length === 1 ? first : { kind, parts };
      parts.push(part);
    }
  }

  #not(): Expression | undefined {
    const negated = this.#attempt(() => {
      if (!this.#word('not') || !this.#space()) return undefined;
      return this.#nested(() => this.#not());
    });
    if (negated !== undefined) return { kind: 'not', of: negated };
    return this.#parenthesized() ?? this.#collection() ?? this.#match();
  }

  #parenthesized(): Expression | undefined {
    return this.#attempt(() => (this.#character('(') ? this.#nested(() => this.#closed(')')) : undefined));
  }

  /** Parses an expression up to a closing bracket. */
  #closed(bracket: string): Expression | undefined {
    this.#space();
    const inner = this.#or();
    this.#space();
    return inner !== undefined && this.#character(bracket) ? inner : undefined;
  }

  #nested(parse: () => Expression | undefined): Expression | undefined {
    this.#depth += 1;
    if (this.#depth > FILTER_DEPTH_MAX)
      throw filterError(`the expression has more than ${FILTER_DEPTH_MAX} nested levels`);
    const expression = parse();
    this.#depth -= 1;
    return expression;
  }

  /** `any Checks as check { check.Status == "passing" }`. */
  #collection(): Expression | undefined {
    return this.#attempt(() => {
      const kind = this.#word('any') ? 'any' : this.#word('all') ? 'all' : undefined;
      if (kind === undefined || !this.#space()) return undefined;
      const selector = this.#selector();
      if (selector === undefined || !this.#space() || !this.#word('as') || !this.#space()) return undefined;
      const names = this.#names();
      this.#space();
      if (names === undefined || !this.#character('{')) return undefined;
      const of = this.#nested(() => this.#closed('}'));
      return of === undefined ? undefined : { kind, selector, names, of };
    });
  }

  #names(): readonly [string] | readonly [string, string] | undefined {
    const name = (): string | undefined => this.#match1(IDENTIFIER) ?? (this.#character('_') ? '_' : undefined);
    const first = name();
    if (first === undefined) return undefined;
    const second = this.#attempt(() => {
      this.#space();
      if (!this.#character(',')) return undefined;
      this.#space();
      return name();
    });
    if (second === undefined) return [first];
    if (first === second && first !== '_')
      throw filterError(`"${first}" cannot be used as a placeholder for both the index and the value`);
    return [first, second];
  }

  #match(): Expression | undefined {
    return this.#attempt(() => this.#selectorFirst()) ?? this.#attempt(() => this.#valueFirst());
  }

  #selectorFirst(): Expression | undefined {
    const selector = this.#selector();
    if (selector === undefined) return undefined;
    const match = (operator: MatchOperator, negated: boolean, value: string | undefined): Match | undefined =>
      value === undefined ? undefined : { kind: 'match', operator, negated, selector, value };
    for (const symbol of ['==', '!='] as const) {
      const equal = this.#attempt(() => {
        this.#space();
        if (!this.#character(symbol)) return undefined;
        this.#space();
        return match('==', symbol === '!=', this.#value());
      });
      if (equal !== undefined) return equal;
    }
    for (const [words, operator, negated] of WITH_VALUE) {
      const found = this.#attempt(() =>
        this.#words(words) && this.#space() ? match(operator, negated, this.#value()) : undefined,
      );
      if (found !== undefined) return found;
    }
    if (this.#words(['is', 'not', 'empty'])) return match('is empty', true, '');
    if (this.#words(['is', 'empty'])) return match('is empty', false, '');
    return undefined;
  }

  #valueFirst(): Expression | undefined {
    const value = this.#value();
    if (value === undefined) return undefined;
    const negated = this.#words(['not', 'in']);
    if (!(negated || this.#words(['in'])) || !this.#space()) return undefined;
    const selector = this.#selector();
    return selector === undefined ? undefined : { kind: 'match', operator: 'in', negated, selector, value };
  }

  /** Returns the path of `Service.Meta["a b"].x`, `Tags.0` or `"/Service/Meta/x"`. */
  #selector(): Path | undefined {
    const pointer = this.#match1(POINTER);
    if (pointer !== undefined) {
      const [first = '', ...rest] = pointer.slice(1).split('/').map(unescapePointer);
      return [first, ...rest];
    }
    const first = this.#match1(IDENTIFIER);
    if (first === undefined) return undefined;
    const rest: string[] = [];
    for (;;) {
      const part = this.#attempt(() => this.#segment());
      if (part === undefined) return [first, ...rest];
      rest.push(part);
    }
  }

  #segment(): string | undefined {
    const index = this.#match1(INDEX);
    if (index !== undefined) return index;
    if (this.#character('.')) return this.#match1(IDENTIFIER);
    if (!this.#character('[')) return undefined;
    this.#space();
    const key = this.#string();
    this.#space();
    return this.#character(']') ? key : undefined;
  }

  /** Returns the text of a value: `word`, `a.b`, `7`, `"text"` or a text in backquotes. */
  #value(): string | undefined {
    const string = this.#string();
    if (string !== undefined) return string;
    return this.#match1(NUMBER) ?? this.#selector()?.join('.');
  }

  #string(): string | undefined {
    const raw = this.#match1(RAW_STRING);
    if (raw !== undefined) return raw;
    const start = this.#at;
    const quoted = this.#match1(STRING);
    if (quoted === undefined) return undefined;
    const text = unquote(quoted);
    if (text === undefined) throw filterError(`1:${start + 1} (${start}): rule "string": invalid syntax`);
    return text;
  }

  #words(words: readonly string[]): boolean {
    const start = this.#at;
    if (words.every((word) => this.#space() && this.#word(word))) return true;
    this.#at = start;
    return false;
  }

  #word(word: string): boolean {
    const end = this.#at + word.length;
    WORD_END.lastIndex = end;
    if (!this.#text.startsWith(word, this.#at) || !WORD_END.test(this.#text)) return false;
    this.#at = end;
    return true;
  }

  #character(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #space(): boolean {
    return this.#match1(SPACE) !== undefined;
  }

  /** Returns the first group of a sticky pattern, or the whole match. */
  #match1(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[1] ?? found[0];
  }

  #attempt<T>(parse: () => T | undefined): T | undefined {
    const start = this.#at;
    const depth = this.#depth;
    const result = parse();
    if (result !== undefined) return result;
    this.#furthest = Math.max(this.#furthest, this.#at);
    this.#at = start;
    this.#depth = depth;
    return undefined;
  }
}

const unescapePointer = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

const ESCAPE = /\\(?:([abfnrtv\\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))/gs;
const CONTROL: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const CODE_POINT_MAX = 0x10_ff_ff;

/** Resolves the escapes of a Go string. Returns `undefined` if one is invalid. */
function unquote(text: string): string | undefined {
  let valid = true;
  const resolved = text.replace(
    ESCAPE,
    (_, letter?: string, hex?: string, octal?: string, u?: string, wide?: string) => {
      if (letter !== undefined) return CONTROL[letter] ?? letter;
      const digits = hex ?? u ?? wide;
      const code = octal === undefined ? Number.parseInt(digits ?? '', 16) : Number.parseInt(octal, 8);
      if (code <= CODE_POINT_MAX) return String.fromCodePoint(code);
      valid = false;
      return '';
    },
  );
  return valid ? resolved : undefined;
}
