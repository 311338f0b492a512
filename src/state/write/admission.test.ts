import { sqliteStore } from '../../../test/support/state/store.ts';
import { admissionSuite } from './admission.suite.ts';

admissionSuite('sqlite', sqliteStore, 10, false);
