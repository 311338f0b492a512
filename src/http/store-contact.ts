/** Whether this server can reach the store, for readiness and the headers of reads. */
import { STORE_SILENCE_MS } from './limits.ts';

export interface StoreContact {
  readonly loaded: boolean;
  readonly storeFailing: boolean;
  lastContactMs(): number;
}

/** Whether the state is loaded and the store answers. [SRV-66] */
export const isStoreReachable = (state: StoreContact): boolean =>
  state.loaded && !state.storeFailing && state.lastContactMs() <= STORE_SILENCE_MS;
