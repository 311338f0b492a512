/** UUIDs that a seed reproduces. The order of rows and the placement of jobs follow from them. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { Random } from '../random.ts';

/** Returns a version 4 UUID. */
export function uuidOf(random: Random): string {
  const hex = Array.from({ length: 4 }, () =>
    random
      .below(2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20),
  ];
  return parts.join('-');
}

/** Makes `randomUUID` of node:crypto use `random` in every module of this process, until the result is disposed. */
export function seedUuids(random: Random): Disposable {
  const real = crypto.randomUUID;
  const put = (make: typeof crypto.randomUUID): void => {
    crypto.randomUUID = make;
    syncBuiltinESMExports();
  };
  put(() => uuidOf(random) as ReturnType<typeof crypto.randomUUID>);
  return { [Symbol.dispose]: () => put(real) };
}
