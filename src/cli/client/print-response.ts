/** Prints the result of a GET request, once or continuously. */

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
