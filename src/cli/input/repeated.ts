/** Options that can be given several times. */
import { InvalidArgumentError } from 'commander';

/** Every value, in order. */
export const collect = (text: string, earlier: readonly string[] = []): readonly string[] => [...earlier, text];

/** `KEY=VALUE`, each key once. @throws InvalidArgumentError */
export function collectMeta(
  text: string,
  earlier: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Want KEY=VALUE, such as team=payments.');
  const key = text.slice(0, equals);
  if (Object.hasOwn(earlier, key)) throw new InvalidArgumentError(`"${key}" is given twice.`);
  return { ...earlier, [key]: text.slice(equals + 1) };
}
