import { sqliteStore } from '../../test/support/state/store.ts';
import { modelContract } from './model.suite.ts';

modelContract('sqlite', sqliteStore, 60);
