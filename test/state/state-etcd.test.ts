/** Runs the suites of the engine contract and of the state on a real etcd. */
import { after, before, describe } from 'node:test';
import { engineContract } from '../../src/state/engine/contract.suite.ts';
import { sharedEngineContract } from '../../src/state/engine/shared-store.suite.ts';
import { removalContract } from '../../src/state/jobs/removal.suite.ts';
import { modelContract } from '../../src/state/model.suite.ts';
import { stateContract } from '../../src/state/state.suite.ts';
import { followingContract } from '../../src/state/watch/watch.suite.ts';
import { admissionSuite } from '../../src/state/write/admission.suite.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { etcdStore, type TestStore } from '../support/state/store.ts';
import { skipWithout } from '../support/tools.ts';

describe('state in etcd', { skip: skipWithout('etcd'), timeout: 180_000, concurrency: 4 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());
  const store = (): Promise<TestStore> => etcdStore(etcd);

  engineContract('etcd', store);
  sharedEngineContract('etcd', store);
  stateContract('etcd', store);
  removalContract('etcd', store);
  followingContract('etcd', store);
  modelContract('etcd', store, 20);
  admissionSuite('etcd', store, 8, true);
});
