/** `npm run bench [section…]`: what must be fast, measured beside this machine's bare figures in the same run. */
import { SECTIONS } from './sections.ts';
import { printFigures } from './support/figures.ts';

const wanted = process.argv.slice(2);
for (const [name, run] of Object.entries(SECTIONS))
  if (wanted.length === 0 || wanted.includes(name)) await run(printFigures);
