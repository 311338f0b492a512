/** A setting that stops the start. The message is one line for the operator: key, origin, value, what is wanted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Where a value came from. A file's line counts from 1. */
export type Origin =
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'default' };

/** The origin as it stands in messages and in `accord config`: `--http-address`, `accord.yaml:3`, `default`. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'flag':
    case 'variable':
      return origin.name;
    case 'file':
      return `${origin.path}:${origin.line}`;
    case 'default':
      return 'default';
  }
}

/** Longest value that a message repeats: the operator must recognise it, not read it back. */
const QUOTED_LENGTH_MAX = 100;

/** A value in quotes on one line, cut when it is long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text);
}
