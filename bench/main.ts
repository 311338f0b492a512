/** `npm run bench [-- SECTION…]`: measures the given sections, or all, and prints the figures with their targets. */
import { SECTIONS } from './sections.ts';
import { printFigures } from './support/figures.ts';

const wanted = process.argv.slice(2);
for (const [name, run] of Object.entries(SECTIONS))
  if (wanted.length === 0 || wanted.includes(name)) await run(printFigures);
