/** The limits of budgets themselves. */

/** Keys in one generation of a rate, see rate.ts. Two generations of 32,768 keys take about 8 MB. */
export const RATE_KEYS_MAX = 32_768;
