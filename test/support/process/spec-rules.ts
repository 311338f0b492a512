/**
 * Reads the numbered rules of `docs/spec` and the citations of rules in code. A rule is defined by its number in bold
 * brackets. A citation is a list of numbers and ranges in brackets, in a comment, a string, or a test name.
 */

/** A rule as its page defines it. */
export interface RuleDefinition {
  /** The prefix of the page and the number, such as `PEER-12`. */
  readonly id: string;
  /** Whether the rule was removed. Its number stays, but needs no test. */
  readonly isWithdrawn: boolean;
}

const DEFINITION = /\*\*\[([A-Z][A-Z0-9]*-\d+)\]\*\*( Withdrawn\b)?/g;

/** Returns the rules that a page defines, in the page's order. */
export function definitionsIn(page: string): readonly RuleDefinition[] {
  return [...page.matchAll(DEFINITION)].map(([, id = '', withdrawn]) => ({ id, isWithdrawn: withdrawn !== undefined }));
}

const ID = String.raw`[A-Z][A-Z0-9]*-\d+`;
/** The separator of numbers in a citation. A comment can wrap there, so a line break and ` * ` can follow. */
const SEPARATOR = String.raw`(?:,| to| and|, and)\s+(?:(?:\*|//) )?`;
const CITATION = new RegExp(String.raw`\[(${ID}(?:${SEPARATOR}${ID})*)\]`, 'g');
const ID_OR_RANGE = /([A-Z][A-Z0-9]*)-(\d+)(?: to\s+(?:(?:\*|\/\/) )?\1-(\d+))?/g;

/** Returns the rules that a text cites, with ranges such as `PEER-1 to PEER-3` expanded. It ignores definitions. */
export function citationsIn(text: string): readonly string[] {
  return [...text.replaceAll(DEFINITION, '').matchAll(CITATION)].flatMap(([, list = '']) =>
    [...list.matchAll(ID_OR_RANGE)].flatMap(([, prefix = '', first, last = first]) =>
      Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => `${prefix}-${Number(first) + i}`),
    ),
  );
}

/** Returns the errors in the numbers of one page: several prefixes, a number defined twice, and gaps. */
export function numberingErrors(page: string): readonly string[] {
  const ids = definitionsIn(page).map(({ id }) => id);
  const unique = new Set(ids);
  const prefixes = [...new Set(ids.map((id) => id.replace(/-\d+$/, '')))];
  const numbers = [...unique].map(numberOf);
  const expected = Array.from({ length: Math.max(0, ...numbers) }, (_, i) => `${prefixes[0]}-${i + 1}`);
  return [
    ...(prefixes.length > 1 ? [`the page has several prefixes: ${prefixes.join(', ')}`] : []),
    ...[...unique].filter((id) => ids.indexOf(id) !== ids.lastIndexOf(id)).map((id) => `${id} is defined twice`),
    ...expected.filter((id) => !unique.has(id)).map((id) => `${id} is missing`),
  ];
}

const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1));

/** Orders rules by prefix and then by number. */
export function compareIds(a: string, b: string): number {
  const [prefixA, prefixB] = [a, b].map((id) => id.slice(0, id.lastIndexOf('-'))) as [string, string];
  return prefixA === prefixB ? numberOf(a) - numberOf(b) : prefixA < prefixB ? -1 : 1;
}
