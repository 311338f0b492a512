import type { Origin } from './error.ts';
import type { SettingKey } from './table.ts';

/** The unparsed value of a setting. */
export interface GivenValue {
  readonly key: SettingKey;
  readonly text: string;
  readonly origin: Origin;
  /** Whether the text is the secret itself and not the path of its file. */
  readonly isSecret: boolean;
}
