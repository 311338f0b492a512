/** The sections of the benchmark, in the order in which they run. */
import { benchCatalog } from './catalog.ts';
import { benchFootprint } from './footprint.ts';
import { benchHttp } from './http.ts';
import { benchPeering } from './peering.ts';
import { benchServices } from './services.ts';
import { benchState } from './state.ts';
import type { ReportFigures } from './support/figures.ts';
import { benchTeamAccess } from './team-access.ts';

export const SECTIONS: Readonly<Record<string, (report: ReportFigures) => Promise<void>>> = {
  state: benchState,
  http: benchHttp,
  peering: benchPeering,
  catalog: benchCatalog,
  services: benchServices,
  'team-access': benchTeamAccess,
  footprint: benchFootprint,
};
