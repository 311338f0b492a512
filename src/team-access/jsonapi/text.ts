/** Texts from strangers: they stand in lists, terminals and logs, and in keys of the store, which takes well-formed ones. */
import { Type } from 'typebox';
import { TEXT_CHARACTERS_MAX } from '../limits.ts';

/** No control characters but those of several lines, and no half of a surrogate pair. Read with the flag `u`. */
const PATTERN = '^[^\\p{Cs}\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$';
const TEXT = new RegExp(PATTERN, 'u');

/** A text that people write. */
export const textSchema = Type.String({ maxLength: TEXT_CHARACTERS_MAX, pattern: PATTERN });

/** Likewise, where it names something within a setting. */
export const textKeySchema = Type.String({ pattern: PATTERN });

/** What is wanted of a text, for messages. */
export const TEXT_WANTED = `up to ${TEXT_CHARACTERS_MAX} characters, none of them a control character but tabs and ends of lines`;

/** Whether a value is such a text. */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX && TEXT.test(value);
