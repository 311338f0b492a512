/** Showing what a GET answers, once or for as long as it is watched. */

import { print } from '../output/output.ts';
import type { Shell } from '../shell.ts';
import { type Client, parseJson } from './client.ts';
import { watch } from './watch.ts';

/** Options of commands that show something. */
export interface ReadOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Prints the answer of a GET, and with `--watch` again whenever it differs. @throws CommandError */
export async function showAnswer<T>(
  shell: Shell,
  client: Client,
  call: { readonly path: string; readonly query?: Readonly<Record<string, string | number | undefined>> },
  options: ReadOptions,
  people: (result: T) => string,
): Promise<void> {
  const get = { method: 'GET', ...call } as const;
  const show = (text: string): void => print(shell, options, parseJson(client, text) as T, people);
  if (options.watch === true) await watch(shell, client, get, (answer) => show(answer.text));
  else show((await client.send(get)).text);
}
