import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  type InProcessCluster,
  isActive,
  startInProcessCluster,
} from '../../../test/support/peering/in-process-cluster.ts';
import { mustGenerate, requestEstablish, tokenContent } from '../../../test/support/peering/peering-requests.ts';
import { type EtcdCluster, startEtcd } from '../../../test/support/process/etcd.ts';
import { gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { etcdStore } from '../../../test/support/state/store.ts';
import { skipWithout } from '../../../test/support/tools.ts';
import { until } from '../../../test/support/until.ts';
import { createDeniedNetworks } from './dialing/denied-networks.ts';
import { peerConnections } from './dialing/peer-connection.ts';
import {
  LeaderAddressSchema,
  type ReplicationMessage,
  ReplicationMessage_OpenSchema,
} from './wire/gen/peering/peerstream_pb.ts';
import { openMessage } from './wire/messages.ts';

interface Servers {
  readonly first: InProcessCluster;
  readonly other: InProcessCluster;
  /** Takes the lease from `first`. */
  loseLease(): void;
}

/** The status that ends a stream. */
type Status = readonly [code: Code, message: string, leader: string | undefined];

describe('a server that cannot serve a stream', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  /** Starts two servers of one cluster. `first` accepts `streamsMax` streams and can lose its lease. */
  async function startServers(stack: AsyncDisposableStack, streamsMax = 10): Promise<Servers> {
    const store = stack.use(await etcdStore(etcd));
    const { engine, reportLiveNodes } = gatedEngine(store.engine());
    const first = stack.use(await startInProcessCluster({ engine, node: 'a' }, { streamsMax }));
    const other = stack.use(await startInProcessCluster({ engine: store.engine(), node: 'b' }));
    const { state } = first.api;
    for (const { running } of [first, other])
      await until('both addresses are known', () => running.service.addresses().length === 2);
    await until('both are members', () => state.liveNodes.length === 2);
    return { first, other, loseLease: () => reportLiveNodes(state.liveNodes.filter(({ name }) => name !== 'a')) };
  }

  /** Creates a peering and opens its stream to this server. */
  async function openStream(
    { api, running }: InProcessCluster,
    name: string,
  ): Promise<{ readonly ended: Promise<Status> }> {
    const token = tokenContent(await mustGenerate(api, name));
    const target = { address: running.address, serverName: token.ServerName, roots: token.CA };
    const connection = peerConnections('1.13.0', createDeniedNetworks([]))(target);
    const StreamSecretID = await connection.exchange(
      token.PeerID,
      token.EstablishmentSecret,
      new AbortController().signal,
    );
    const finished = Promise.withResolvers<void>();
    async function* outgoing(): AsyncGenerator<ReplicationMessage> {
      yield openMessage(create(ReplicationMessage_OpenSchema, { PeerID: token.PeerID, StreamSecretID }));
      await finished.promise;
    }
    const firstMessage = Promise.withResolvers<void>();
    const ended = (async (): Promise<Status> => {
      try {
        for await (const _ of connection.stream(outgoing(), new AbortController().signal)) firstMessage.resolve();
        return assert.fail('it ended without a status');
      } catch (thrown) {
        const error = ConnectError.from(thrown);
        return [error.code, error.rawMessage, error.findDetails(LeaderAddressSchema)[0]?.address];
      } finally {
        firstMessage.resolve();
        finished.resolve();
        connection.close();
      }
    })();
    await firstMessage.promise;
    return { ended };
  }

  it('names another server while its lease is lost, and the dialing side dials it at once [STREAM-28] [STREAM-90]', async () => {
    await using stack = new AsyncDisposableStack();
    const { first, other, loseLease } = await startServers(stack);
    loseLease();
    const words = 'this server cannot serve streams now';
    assert.deepEqual(await (await openStream(first, 'raw')).ended, [
      Code.FailedPrecondition,
      words,
      other.running.address,
    ]);

    const east = stack.use(await startInProcessCluster());
    // The token contains only the first server's address.
    assert.equal((await requestEstablish(east.api, 'west', await mustGenerate(first.api, 'east'))).status, 200);
    await east.untilRecord('west', isActive);
    assert.equal(other.running.live.count, 1);
  });

  it('names another server when it stops [STREAM-85]', async () => {
    await using stack = new AsyncDisposableStack();
    const { first, other } = await startServers(stack);
    const { ended } = await openStream(first, 'raw');
    await first.running.stop();
    assert.deepEqual(await ended, [Code.FailedPrecondition, 'the server is shutting down', other.running.address]);
  });

  it('names its limit and no other server when it is full', async () => {
    await using stack = new AsyncDisposableStack();
    const { first } = await startServers(stack, 0);
    const words = 'limits.streams: this server holds 0 streams already';
    assert.deepEqual(await (await openStream(first, 'raw')).ended, [Code.ResourceExhausted, words, undefined]);
  });
});
