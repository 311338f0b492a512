/** The error for a damaged database, with the place of the damage. */

/** Thrown for stored data that differs from what was written. The message names the place of the damage. */
export class DamageError extends Error {
  override readonly name = 'DamageError';
}

/** Returns the error for a row that differs from its checksum. */
export const damagedRow = (table: string, key: string): DamageError =>
  new DamageError(`row '${key}' of table '${table}' does not match its checksum`);
