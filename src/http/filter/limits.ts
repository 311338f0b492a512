/** The limits of filter expressions. */

/** Characters of an expression. Longer ones are programs, and belong into the client. */
export const FILTER_CHARACTERS_MAX = 2_048;

/** Nested `not`, parentheses and collection expressions. */
export const FILTER_DEPTH_MAX = 32;

/** Instructions of one compiled regular expression: its time grows with them and with the length of the value. */
export const FILTER_REGEX_INSTRUCTIONS_MAX = 256;

/**
 * Work of one evaluation over a whole list, in units of about 10 ns, so that a filter takes at most half a second of CPU
 * time. One comparison with each of 1,250,000 items takes all of it.
 */
export const FILTER_WORK_MAX = 50_000_000;

/** Work of building the view of one item. */
export const FILTER_ITEM_WORK = 30;

/** Work of one comparison of one value. */
export const FILTER_MATCH_WORK = 10;
