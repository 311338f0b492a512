import { sqliteStore } from '../../test/support/store.ts';
import { followingContract } from './following.suite.ts';
import { removalContract } from './removal.suite.ts';
import { stateContract } from './state.suite.ts';

stateContract('sqlite', sqliteStore);
removalContract('sqlite', sqliteStore);
followingContract('sqlite', sqliteStore);
