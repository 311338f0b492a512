/** How well this node knows the store. */
import { STORE_SILENCE_MS } from './limits.ts';

/** What is asked of a state. */
export interface StoreContact {
  readonly loaded: boolean;
  readonly storeFailing: boolean;
  lastContactMs(): number;
}

/** Whether the state follows a store that answers. */
export const isStoreKnown = (state: StoreContact): boolean =>
  state.loaded && !state.storeFailing && state.lastContactMs() <= STORE_SILENCE_MS;
