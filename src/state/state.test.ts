import { sqliteStore } from '../../test/support/state/store.ts';
import { removalContract } from './jobs/removal.suite.ts';
import { stateContract } from './state.suite.ts';
import { followingContract } from './watch/watch.suite.ts';

stateContract('sqlite', sqliteStore);
removalContract('sqlite', sqliteStore);
followingContract('sqlite', sqliteStore);
