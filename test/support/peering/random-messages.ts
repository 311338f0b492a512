/** Sends the messages of a hostile peer, and checks what the server imports. */
import assert from 'node:assert/strict';
import { createSecretStore } from '../../../src/peering/record/encrypted-secret.ts';
import type { ReplicationMessage_Request } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS } from '../../../src/peering/stream/wire/resources.ts';
import { clusterName } from '../../../src/peering/trust/cluster-name.ts';
import { createAuthority } from '../../../src/peering/trust/issue-certificates.ts';
import { createRandom } from '../random.ts';
import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';
import { type HostileStream, openHostileStream, resourceResponse } from './hostile-peer.ts';
import { ANY, type RandomMessage, randomMessages, SERVICES } from './random-message.ts';

/** Messages that are sent at once. After them the peer waits for the answer to a valid one. */
const BATCH = 50;

/** The results of the messages of one run. */
export interface Outcome {
  accepted: number;
  refused: number;
  /** Services that the server had imported when a stream ended. */
  imported: number;
  /** Streams that the server ended, because of a protocol error or too many of them. */
  streamsEnded: number;
}

/**
 * Sends `count` random messages to `cluster`, in the streams of one peering after the other.
 * @throws AssertionError if the server imports a service whose every message it refused, or does not import one whose
 *   last message it accepted
 */
export async function sendRandomMessages(cluster: Cluster, seed: number, count: number): Promise<Outcome> {
  const messages = randomMessages(createRandom(seed), await createRoot());
  const outcome: Outcome = { accepted: 0, refused: 0, imported: 0, streamsEnded: 0 };
  for (let sent = 0, peers = 0; sent < count; peers += 1) {
    const name = `random-${seed}-${peers}`;
    using stream = await openHostileStream(cluster, name);
    const imports = new Imports();
    while (sent < count && !stream.call.stream.destroyed) {
      const batch = new Map(Array.from({ length: BATCH }, (_, i) => [`n${sent + i}`, messages.next(`n${sent + i}`)]));
      stream.call.write(Buffer.concat([...batch.values()].map(({ frame }) => frame)));
      sent += BATCH;
      const answered = new Map<string, boolean>();
      for (const { ResponseNonce, Error: refusal } of await answers(stream, `end${sent}`)) {
        outcome[refusal === undefined ? 'accepted' : 'refused'] += 1;
        answered.set(ResponseNonce, refusal === undefined);
      }
      for (const [nonce, message] of batch) imports.sent(message, answered.get(nonce));
    }
    if (stream.call.stream.destroyed) outcome.streamsEnded += 1;
    outcome.imported += await imports.compare(cluster, name, !stream.call.stream.destroyed);
    await cluster.request('DELETE', `/v1/peering/${name}`);
  }
  return outcome;
}

/** Returns the root of another cluster. */
async function createRoot(): Promise<string> {
  const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'dc1');
  const made = await createAuthority({ name, secrets: createSecretStore(undefined), nowMs: Date.now() });
  return made.root.certificate;
}

/** Waits until the server has answered everything sent or ended the stream. Returns the answers and forgets them. */
async function answers(stream: HostileStream, nonce: string): Promise<readonly ReplicationMessage_Request[]> {
  const { received, send } = stream.call;
  send(resourceResponse('list', RESOURCE_KINDS.list.id ?? '', { Services: SERVICES }, nonce));
  const all = (): ReplicationMessage_Request[] =>
    received.flatMap(({ Payload }) => (Payload.case === 'request' ? [Payload.value] : []));
  await until(
    `the answer to ${nonce}`,
    () => stream.call.stream.destroyed || all().some(({ ResponseNonce }) => ResponseNonce === nonce),
  );
  const result = all();
  received.length = 0;
  return result.filter(({ ResponseNonce }) => ResponseNonce !== '' && ResponseNonce !== nonce);
}

/** The services of one peer that the server may import, and those that it must. */
class Imports {
  readonly #allowed = new Set<string>();
  /** Whether each service has instances. Absent where an answer or the order leaves that open. */
  readonly #certain = new Map<string, boolean>();

  /**
   * Adds a message, in the order of sending. The answer to a version that a newer one replaced while it waited is that of
   * the newer one, so only an accepted last version is certain.
   * @param accepted undefined without an answer
   */
  sent({ service, instances }: RandomMessage, accepted: boolean | undefined): void {
    const key = service.toLowerCase();
    if (accepted !== false || service === ANY) this.#allowed.add(key);
    if (service === ANY) this.#certain.clear();
    else if (accepted === true && instances !== undefined) this.#certain.set(key, instances > 0);
    else this.#certain.delete(key);
  }

  /** @param isOpen whether the stream is open, so that every answer has arrived. @returns the number of services */
  async compare(cluster: Cluster, peer: string, isOpen: boolean): Promise<number> {
    const { status, text } = await cluster.request('GET', `/v1/catalog/services?peer=${peer}`);
    if (status === 404) return 0;
    assert.equal(status, 200, text);
    const imported = Object.keys(JSON.parse(text) as object).map((service) => service.toLowerCase());
    if (!this.#allowed.has(ANY)) {
      const refused = imported.filter((service) => !this.#allowed.has(service));
      assert.deepEqual(refused, [], `${peer}: services that were never accepted`);
    }
    if (isOpen) {
      for (const [service, isThere] of this.#certain)
        assert.equal(imported.includes(service), isThere, `${peer}: ${service}`);
    }
    return imported.length;
  }
}
