/** `npm run bench [section…]`: what must be fast, measured beside this machine's bare figures in the same run. */
import { benchCatalog } from './catalog.ts';
import { benchFootprint } from './footprint.ts';
import { benchHttp } from './http.ts';
import { benchPeering } from './peering.ts';
import { benchServices } from './services.ts';
import { benchState } from './state.ts';

const SECTIONS: Readonly<Record<string, () => Promise<void>>> = {
  state: benchState,
  http: benchHttp,
  peering: benchPeering,
  catalog: benchCatalog,
  services: benchServices,
  footprint: benchFootprint,
};

const wanted = process.argv.slice(2);
for (const [name, run] of Object.entries(SECTIONS)) if (wanted.length === 0 || wanted.includes(name)) await run();
