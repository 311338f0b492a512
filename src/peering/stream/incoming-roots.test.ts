import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { generated } from '../../../test/support/peering/peering.ts';
import { type Api, sharedApi } from '../../../test/support/process/api.ts';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { peerings, streamOpened } from '../record/record.ts';
import { trustBundles } from '../record/trust-bundle.ts';
import { BACKDATED_MS, ROOT_LIFE_MS } from '../trust/limits.ts';
import { makeAuthority } from '../trust/make-certificates.ts';
import { clusterName } from '../trust/names.ts';
import { ApplyRefused } from './contract.ts';
import { incomingResources } from './importing/incoming-resources.ts';
import { PeeringTrustBundleSchema } from './wire/gen/peering/peering_pb.ts';
import { decodeResource } from './wire/messages.ts';

const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'dc1');
const madeMs = Date.UTC(2030, 0, 1);
const rootMadeAt = async (nowMs: number): Promise<string> =>
  (await makeAuthority({ name, secrets: createSecretStore(undefined), nowMs })).root.certificate;
const first = await rootMadeAt(madeMs);
/** Valid from the moment that the first one ends. */
const second = await rootMadeAt(madeMs + ROOT_LIFE_MS + BACKDATED_MS);
const { signal } = new AbortController();

describe('a trust bundle', () => {
  const api = sharedApi();

  /** Brings it to a peering at this time. @returns what is trusted then */
  async function brought(to: Api, peering: string, atMs: number, RootPEMs: string[]): Promise<readonly string[]> {
    await generated(to, peering);
    const { id, epoch } = await to.state.write((tx) => {
      const stored = tx.find(peerings, 'name', `default/${peering}`);
      const row = stored && streamOpened(stored.row, { node: 'a', incarnation: '1' });
      assert.ok(row !== undefined);
      tx.put(peerings, row);
      return row;
    });
    const incoming = incomingResources({ state: to.state, clock: createFakeClock(atMs) }, id, Promise.resolve(epoch));
    const bundle = create(PeeringTrustBundleSchema, { TrustDomain: name.trustDomain, RootPEMs });
    const content = toBinary(PeeringTrustBundleSchema, bundle);
    await incoming.apply(decodeResource({ key: { kind: 'roots', id: 'roots' }, content }), true, signal, content);
    return to.state.snapshot.get(trustBundles, id)?.row.roots ?? [];
  }

  test('is taken with a root that was made this moment, by a clock that is ahead of ours', async () => {
    const nowMs = madeMs + ROOT_LIFE_MS - 1_000;
    assert.deepEqual(await brought(api(), 'ahead', nowMs, [first, second]), [first, second]);
  });

  test('is taken without the roots that have expired', async () => {
    assert.deepEqual(await brought(api(), 'expired', madeMs + ROOT_LIFE_MS, [first, second]), [second]);
  });

  test('is refused when nothing is left of it, or one of its roots is none', async () => {
    const refused = async (peering: string, words: RegExp, ...roots: string[]): Promise<void> => {
      const bringing = brought(api(), peering, madeMs + ROOT_LIFE_MS, roots);
      await assert.rejects(bringing, (error) => error instanceof ApplyRefused && words.test(error.message));
    };
    await refused('nothing', /^the trust bundle: the certificate expired at 2040/, first);
    await refused('none', /^the trust bundle: certificate 2 is not one certificate in PEM$/, second, 'hello');
    await refused('empty', /^the trust bundle names no root$/);
  });
});
