/** The query parameter `filter` of lists. */
import { type TSchema, Type } from 'typebox';
import { filterInSlices, type Steps } from '../../state/clock/slices.ts';
import type { Query } from '../call.ts';
import type { Parameter } from '../parameter.ts';
import { addWork, compileFilter, type Filter, type FilterWork } from './compile-filter.ts';
import { FILTER_CHARACTERS_MAX, FILTER_ITEM_WORK } from './limits.ts';

export const FILTER: Parameter = {
  name: 'filter',
  description:
    'An expression in the grammar of go-bexpr, such as Service.Tags contains "v1" and Node.Meta.rack != 7. Returns only matching items.',
  schema: Type.String({ maxLength: FILTER_CHARACTERS_MAX }),
};

/** Reads the filter for items of a schema, if the request has one. @throws ServiceError `bad-request` */
export function readFilter(query: Query, itemSchema: TSchema): Filter | undefined {
  const text = query.get(FILTER.name) ?? '';
  return text === '' ? undefined : compileFilter(text, itemSchema);
}

/**
 * Returns the items that match. `viewOf` returns an item as its response shows it.
 * @throws ServiceError `bad-request` if the list is too long for the filter
 */
export function* filterItems<Item>(
  items: readonly Item[],
  filter: Filter | undefined,
  viewOf: (item: Item) => unknown,
): Steps<readonly Item[]> {
  if (filter === undefined) return items;
  const work: FilterWork = { units: 0 };
  return yield* filterInSlices(items, (item) => {
    addWork(work, FILTER_ITEM_WORK);
    return filter.matches(viewOf(item), work);
  });
}
