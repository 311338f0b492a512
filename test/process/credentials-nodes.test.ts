/** Tokens and partitions on two nodes of one store: each node sees the writes that the other acknowledged. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SYSTEM } from '../../src/audit/record.ts';
import { aclTokens } from '../../src/credentials/acl-token.ts';
import { recordTokenChange } from '../../src/credentials/change-token.ts';
import { systemClock } from '../../src/state/clock/clock.ts';
import { expiryJob } from '../../src/state/jobs/expiry.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import type { Answer, RequestOptions } from '../support/process/server.ts';
import { etcdStore } from '../support/state/store.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

describe('two nodes on one etcd', { skip: skipWithout('etcd') }, () => {
  let etcd: EtcdCluster;
  const nodes: Api[] = [];
  let token = '';
  before(async () => {
    etcd = await startEtcd();
    const store = await etcdStore(etcd);
    for (const node of ['a', 'b']) nodes.push(await startApi({ engine: store.engine(), node }));
    token = nodes[0]?.token ?? '';
  });
  after(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  /** Sends a request to a node. */
  const request = (node: number, method: string, path: string, options: RequestOptions = {}): Promise<Answer> =>
    (nodes[node % 2] as Api).request(method, path, { token, ...options });
  /** Returns the index of a node after a consistent read. */
  const newestIndex = async (node: number): Promise<number> => {
    const { state } = nodes[node] as Api;
    await state.consistent();
    return state.snapshot.index;
  };
  const make = async (node: number, body: unknown): Promise<{ AccessorID: string; SecretID: string }> => {
    const answer = await request(node, 'PUT', '/v1/acl/token', { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
  };

  test('create first credentials once [SRV-36]', () => assert.equal(nodes[1]?.token, ''));

  test('see a token that the other node created or deleted, without delay [V1-58]', async () => {
    for (let round = 0; round < 20; round++) {
      const { AccessorID, SecretID } = await make(round, {});
      const self = () => request(round + 1, 'GET', '/v1/acl/token/self', { token: SecretID });
      assert.equal((await self()).status, 200);
      await request(round, 'DELETE', `/v1/acl/token/${AccessorID}`);
      assert.equal((await self()).status, 403);
    }
  });

  test('wake a blocking query after a change on the other node [V1-76]', async () => {
    const { answer } = await (nodes[1] as Api).startBlockingQuery(`/v1/partitions?index=${await newestIndex(1)}`, {
      token,
    });
    await request(0, 'PUT', '/v1/partition/eu', { body: {} });
    assert.match((await answer).text, /"Name":"eu"/);
  });

  test('end a blocking query with 403 when the other node deletes its token [V1-79, ACL-44]', async () => {
    const { AccessorID, SecretID } = await make(0, { Grants: [{ Resource: 'acl', Access: 'read', Partition: 'eu' }] });
    const path = `/v1/acl/tokens?partition=eu&index=${await newestIndex(1)}`;
    const { answer } = await (nodes[1] as Api).startBlockingQuery(path, { token: SecretID });
    await request(0, 'DELETE', `/v1/acl/token/${AccessorID}`);
    const { status, text } = await answer;
    assert.deepEqual([status, text], [403, 'ACL not found']);
  });

  test('create a partition once when both create it concurrently [V1-45]', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `both-${round}`;
      const answers = await Promise.all(
        [0, 1, 0, 1].map((node) => request(node, 'PUT', `/v1/partition/${name}`, { body: {} })),
      );
      const [first] = answers;
      for (const answer of answers) assert.deepEqual([answer.status, answer.text], [200, first?.text]);
      const audit = await request(round, 'GET', `/v1/audit?partition=${name}`);
      assert.equal(audit.json<unknown[]>().length, 1);
    }
  });

  test('remove an expired token once [SRV-34]', async () => {
    for (const { state } of nodes) {
      state.addJob(
        expiryJob(state, aclTokens, systemClock, (tx, stored) =>
          recordTokenChange(tx, SYSTEM, 'expire', stored, undefined),
        ),
      );
    }
    const { AccessorID } = await make(0, { ExpirationTTL: '100ms' });
    const expired = async (): Promise<number> =>
      (await request(1, 'GET', '/v1/audit?limit=1000'))
        .json<{ Action: string; Subject: string }[]>()
        .filter(({ Action, Subject }) => Action === 'expire' && Subject === AccessorID).length;
    await until('the token is removed', async () => (await expired()) > 0);
    assert.equal(await expired(), 1);
  });
});
