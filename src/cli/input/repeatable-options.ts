/** Parsers of options that may be repeated. */
import { InvalidArgumentError } from 'commander';

export const collect = (text: string, earlier: readonly string[] = []): readonly string[] => [...earlier, text];

/** Collects `KEY=VALUE` pairs with unique keys. @throws InvalidArgumentError */
export function collectMeta(
  text: string,
  earlier: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Want KEY=VALUE, such as team=payments.');
  const key = text.slice(0, equals);
  if (Object.hasOwn(earlier, key)) throw new InvalidArgumentError(`Duplicate key "${key}".`);
  return { ...earlier, [key]: text.slice(equals + 1) };
}
