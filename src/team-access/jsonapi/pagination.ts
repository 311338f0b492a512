/** Pages of lists: `page[number]` and `page[size]`, the links to other pages and what is said of them. */
import { Type } from 'typebox';
import type { Call } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../limits.ts';
import type { Document, Resource } from './documents.ts';
import { type Fault, throwFaults } from './errors.ts';

/** Which page. */
export interface Page {
  /** From 1. */
  readonly number: number;
  readonly size: number;
}

const NUMBER: Parameter = {
  name: 'page[number]',
  description: 'Which page, from 1.',
  schema: Type.Integer({ minimum: 1, maximum: PAGE_NUMBER_MAX }),
};
/** How long pages are. */
export interface PageSizes {
  readonly fallback: number;
  readonly maximum: number;
}

const SIZES: PageSizes = { fallback: PAGE_SIZE_DEFAULT, maximum: PAGE_SIZE_MAX };

const sizeParameter = ({ fallback, maximum }: PageSizes): Parameter => ({
  name: 'page[size]',
  description: `How many on a page; ${fallback} unless given.`,
  schema: Type.Integer({ minimum: 1, maximum }),
});
const SIZE = sizeParameter(SIZES);

/** What `readPage` reads, for the API description. */
export const PAGE_PARAMETERS: readonly Parameter[] = [NUMBER, SIZE];

/** Likewise, for pages of other sizes. */
export const pageParameters = (sizes: PageSizes): readonly Parameter[] => [NUMBER, sizeParameter(sizes)];

/**
 * The page that is asked for; `undefined` when neither parameter is given. `others` are faults of the same step.
 * @throws JsonApiError `invalid-attribute`
 */
export function readPage(query: Query, others: readonly Fault[] = [], sizes = SIZES): Page | undefined {
  const faults: Fault[] = [...others];
  const number = readNumber(query, NUMBER.name, PAGE_NUMBER_MAX, faults);
  const size = readNumber(query, SIZE.name, sizes.maximum, faults);
  throwFaults(faults);
  if (number === undefined && size === undefined) return undefined;
  return { number: number ?? 1, size: size ?? sizes.fallback };
}

/** Likewise, for lists that are always paginated. @throws JsonApiError `invalid-attribute` */
export const readPageAlways = (query: Query, others: readonly Fault[] = [], sizes = SIZES): Page =>
  readPage(query, others, sizes) ?? { number: 1, size: sizes.fallback };

/** The part of a list that is on a page. */
export const onPage = <T>(all: readonly T[], { number, size }: Page): readonly T[] =>
  all.slice((number - 1) * size, number * size);

/** `meta.pagination` of a page in a list of `totalCount`. */
export function paginationOf({ number, size }: Page, totalCount: number) {
  const totalPages = Math.max(1, Math.ceil(totalCount / size));
  return {
    'current-page': number,
    'page-size': size,
    'prev-page': number > 1 ? Math.min(number - 1, totalPages) : null,
    'next-page': number < totalPages ? number + 1 : null,
    'total-pages': totalPages,
    'total-count': totalCount,
  };
}

/** The document of one page. `totalCount` counts the whole list as this caller sees it. */
export function pageDocument(
  call: Call,
  page: Page,
  { data, totalCount, included }: { data: readonly Resource[]; totalCount: number; included?: readonly Resource[] },
): Document {
  const pagination = paginationOf(page, totalCount);
  const to = (number: number | null): string | null => (number === null ? null : pageLink(call, page, number));
  return {
    data,
    ...(included !== undefined && { included }),
    links: {
      self: to(page.number),
      first: to(1),
      prev: to(pagination['prev-page']),
      next: to(pagination['next-page']),
      last: to(pagination['total-pages']),
    },
    meta: { pagination },
  };
}

/** The address of another page of the list that the call asks for, with its other parameters as they are. */
function pageLink({ request, query }: Call, { size }: Page, number: number): string {
  const parameters = new Map([...query, [NUMBER.name, String(number)], [SIZE.name, String(size)]]);
  const text = [...parameters].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  const scheme = 'encrypted' in request.socket && request.socket.encrypted === true ? 'https' : 'http';
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  return `${scheme}://${request.headers.host ?? ''}${path}?${text.join('&')}`;
}

function readNumber(query: Query, name: string, maximum: number, faults: Fault[]): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maximum) return number;
  const bounds = name === SIZE.name ? `between 1 and ${maximum}` : 'a whole number from 1';
  faults.push({ code: 'invalid-attribute', detail: `${name} must be ${bounds}`, parameter: name });
  return undefined;
}
