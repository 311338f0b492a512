import type { Origin } from './error.ts';
import type { SettingKey } from './table.ts';

/** A value as it was written. */
export interface Given {
  readonly key: SettingKey;
  readonly text: string;
  readonly origin: Origin;
  /** The text is the secret itself, not the path of its file. */
  readonly isSecret: boolean;
}
