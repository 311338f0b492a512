/** Parses `true` and `false`. Passes other texts on, because the server's error message lists the valid values. */
export const parseBoolean = (text: string | undefined): string | boolean | undefined =>
  text === 'true' || text === 'false' ? text === 'true' : text;
