/** Lists in order of creation, and their pages: `page[number]`, `page[size]`, links and metadata. */
import { Type } from 'typebox';
import type { Call, Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { type Steps, sortInSlices } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { Stored, Table } from '../../state/table.ts';
import { PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../limits.ts';
import type { Document, Resource } from './documents.ts';
import { type ErrorObject, throwErrors } from './errors.ts';

export interface Page {
  /** From 1. */
  readonly number: number;
  readonly size: number;
}

const NUMBER: Parameter = {
  name: 'page[number]',
  description: 'Page number, from 1.',
  schema: Type.Integer({ minimum: 1, maximum: PAGE_NUMBER_MAX }),
};

export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

const SIZES: PageSizes = { defaultSize: PAGE_SIZE_DEFAULT, maxSize: PAGE_SIZE_MAX };

const sizeParameter = ({ defaultSize, maxSize }: PageSizes): Parameter => ({
  name: 'page[size]',
  description: `Resources per page; ${defaultSize} by default.`,
  schema: Type.Integer({ minimum: 1, maximum: maxSize }),
});
const SIZE = sizeParameter(SIZES);

export const PAGE_PARAMETERS: readonly Parameter[] = [NUMBER, SIZE];

/** Returns the query parameters of lists with other page sizes. */
export const pageParameters = (sizes: PageSizes): readonly Parameter[] => [NUMBER, sizeParameter(sizes)];

/**
 * Returns the requested page, or `undefined` without page parameters. `others` are errors that the caller has already
 * found in the same step of the checks. They are thrown together with the errors of the page.
 * @throws JsonApiError `invalid-attribute`
 */
export function readPage(query: Query, others: readonly ErrorObject[] = [], sizes = SIZES): Page | undefined {
  const errors: ErrorObject[] = [...others];
  const number = readNumber(query, NUMBER.name, PAGE_NUMBER_MAX, errors);
  const size = readNumber(query, SIZE.name, sizes.maxSize, errors);
  throwErrors(errors);
  if (number === undefined && size === undefined) return undefined;
  return { number: number ?? 1, size: size ?? sizes.defaultSize };
}

/** Returns the requested page of a list that is always paginated. @throws JsonApiError `invalid-attribute` */
export const readPageOrDefault = (query: Query, others: readonly ErrorObject[] = [], sizes = SIZES): Page =>
  readPage(query, others, sizes) ?? { number: 1, size: sizes.defaultSize };

export const slicePage = <T>(all: readonly T[], { number, size }: Page): readonly T[] =>
  all.slice((number - 1) * size, number * size);

export function paginationMeta({ number, size }: Page, totalCount: number) {
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

/** `totalCount` is the length of the list that this caller can see. */
export function pageDocument(
  call: Call,
  page: Page,
  { data, totalCount, included }: { data: readonly Resource[]; totalCount: number; included?: readonly Resource[] },
): Document {
  const pagination = paginationMeta(page, totalCount);
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

/** Returns the URL of another page of the same list, with the other query parameters of the request. */
function pageLink({ request, query }: Call, { size }: Page, number: number): string {
  const parameters = new Map([...query, [NUMBER.name, String(number)], [SIZE.name, String(size)]]);
  const text = [...parameters].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  const scheme = 'encrypted' in request.socket && request.socket.encrypted === true ? 'https' : 'http';
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  return `${scheme}://${request.headers.host ?? ''}${path}?${text.join('&')}`;
}

function readNumber(query: Query, name: string, maximum: number, errors: ErrorObject[]): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maximum) return number;
  const bounds = name === SIZE.name ? `between 1 and ${maximum}` : 'a whole number from 1';
  errors.push({ code: 'invalid-attribute', detail: `${name} must be ${bounds}`, parameter: name });
  return undefined;
}

type Placed = Stored<{ readonly place: number }>;
type Identified = Stored<{ readonly id: string }>;

/** Compares rows by creation: by commit, then by position within the commit. */
export const byCreation = (a: Placed, b: Placed): number => a.createIndex - b.createIndex || a.row.place - b.row.place;
const byCreationAndId = (a: Identified, b: Identified): number =>
  a.createIndex - b.createIndex || (a.row.id < b.row.id ? -1 : 1);

/** Sorts rows by creation: by commit, then by position within the commit. */
export const sortByCreation = <Item extends Placed>(rows: readonly Item[]): Item[] => rows.toSorted(byCreation);

/** Returns the rows under an entry of an index, as `sortByCreation` sorts them. */
export function* listByCreation<Row extends { readonly place: number }, Index extends string>(
  reader: Reader,
  table: Table<Row, Index>,
  index: Index,
  entry: string,
): Steps<Stored<Row>[]> {
  return yield* sortInSlices(yield* listInSlices(reader, table, index, entry), byCreation);
}

/** Sorts rows without a place: those of one commit by ID. */
export const sortByCreationAndId = <Item extends Identified>(rows: readonly Item[]): Steps<Item[]> =>
  sortInSlices([...rows], byCreationAndId);

export const NAME_FILTER: Parameter = {
  name: 'q',
  description: 'Returns only resources whose name contains this text.',
  schema: Type.String(),
};
