/** Compares one state with the model in many random histories, on both engines. */
import { after, before, describe } from 'node:test';
import { modelContract } from '../../src/state/model.suite.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { etcdStore, sqliteStore } from '../support/state/store.ts';
import { skipWithout } from '../support/tools.ts';

modelContract('sqlite', sqliteStore, 2_000);

describe('in etcd', { skip: skipWithout('etcd') }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());
  modelContract('etcd', () => etcdStore(etcd), 1_000);
});
