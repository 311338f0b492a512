/** Prints the result of a GET request, once or continuously. */

import { LIST_PAGE_SIZE } from '../limits.ts';
import { print } from '../output/output.ts';
import type { Shell } from '../shell.ts';
import { type Client, parseJson } from './client.ts';
import { watch } from './watch.ts';

export interface OutputOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Sends a GET request and prints the result. With `--watch`, prints every change. @throws CommandError */
export async function printResponse<T>(
  shell: Shell,
  client: Client,
  call: { readonly path: string; readonly query?: Readonly<Record<string, string | number | undefined>> },
  options: OutputOptions,
  format: (result: T) => string,
): Promise<void> {
  const get = { method: 'GET', ...call } as const;
  const show = (text: string): void => print(shell, options, parseJson(client, text) as T, format);
  if (options.watch === true) await watch(shell, client, get, (response) => show(response.text));
  else show((await client.send(get)).text);
}

export interface ListFormat<Item> {
  readonly format: (items: readonly Item[]) => string;
  /** Returns the value of `after` with which the list continues after the item. */
  readonly cursorOf: (item: Item) => string;
}

/**
 * Reads a list in pages, because the server limits the length of a response, and prints it. With `--watch`, prints every
 * change of the whole list, which must then fit in one response.
 * @throws CommandError
 */
export async function printList<Item>(
  shell: Shell,
  client: Client,
  { path, query }: { readonly path: string; readonly query: Readonly<Record<string, string | undefined>> },
  options: OutputOptions,
  { format, cursorOf }: ListFormat<Item>,
): Promise<void> {
  if (options.watch === true) {
    await printResponse(shell, client, { path, query }, options, format);
    return;
  }
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const page = { ...query, limit: LIST_PAGE_SIZE, after };
    const { text } = await client.send({ method: 'GET', path, query: page });
    const read = parseJson(client, text) as readonly Item[];
    items.push(...read);
    const last = read.at(-1);
    after = last === undefined || read.length < LIST_PAGE_SIZE ? undefined : cursorOf(last);
  } while (after !== undefined);
  print(shell, options, items, format);
}
