/** An invalid setting. The message is one line for the operator: key, origin, value, and the expected form. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The source of a value. Lines count from 1. */
export type Origin =
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'default' };

/** Formats an origin for messages and `accord config`: `--http-address`, `accord.yaml:3`, `default`. */
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

/** Characters of a value that a message quotes before it truncates the value. */
const QUOTED_LENGTH_MAX = 100;

export function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text);
}
