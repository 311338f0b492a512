import { sqliteStore } from '../../test/support/store.ts';
import { modelContract } from './model.suite.ts';

modelContract('sqlite', sqliteStore, 60);
