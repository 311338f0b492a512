import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi } from '../../../test/support/process/api.ts';
import { systemClock } from '../../state/clock/clock.ts';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { peerings, streamOpened } from '../record/record.ts';
import { trustBundles } from '../record/trust-bundle.ts';
import { clusterName } from '../trust/cluster-name.ts';
import { createAuthority } from '../trust/issue-certificates.ts';
import { BACKDATED_MS, ROOT_LIFE_MS } from '../trust/limits.ts';
import { ApplyRefused } from './contract.ts';
import { createImportBudgets } from './importing/import-budgets.ts';
import { incomingResources } from './importing/incoming-resources.ts';
import { PeeringTrustBundleSchema } from './wire/gen/peering/peering_pb.ts';
import { decodeResource } from './wire/messages.ts';

const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'dc1');
const createdMs = Date.UTC(2030, 0, 1);
const createRoot = async (nowMs: number): Promise<string> =>
  (await createAuthority({ name, secrets: createSecretStore(undefined), nowMs })).root.certificate;
const first = await createRoot(createdMs);
/** Becomes valid when the first root expires. */
const second = await createRoot(createdMs + ROOT_LIFE_MS + BACKDATED_MS);
const { signal } = new AbortController();

describe('a received trust bundle', () => {
  const api = sharedApi();

  /** Applies a trust bundle to a peering at this time. @returns the roots that are trusted afterwards */
  async function applyBundle(
    to: Api,
    peering: string,
    atMs: number,
    RootPEMs: string[],
    TrustDomain = name.trustDomain,
  ): Promise<readonly string[]> {
    await mustGenerate(to, peering);
    const { id, epoch } = await to.state.write((tx) => {
      const stored = tx.find(peerings, 'name', `default/${peering}`);
      const row = stored && streamOpened(stored.row, { node: 'a', incarnation: '1' });
      assert.ok(row !== undefined);
      tx.put(peerings, row);
      return row;
    });
    // Pauses between attempts take no time.
    const clock = { ...createFakeClock(atMs), after: (_ms: number, run: () => void) => systemClock.after(1, run) };
    const parts = {
      state: to.state,
      clock,
      budgets: createImportBudgets(clock, () => true),
      identity: { trustDomain: 'here.accord' },
    };
    const incoming = incomingResources(parts, id, Promise.resolve(epoch));
    const bundle = create(PeeringTrustBundleSchema, { TrustDomain, RootPEMs });
    const content = toBinary(PeeringTrustBundleSchema, bundle);
    await incoming.apply(decodeResource({ key: { kind: 'roots', id: 'roots' }, content }), true, signal, content);
    return to.state.snapshot.get(trustBundles, id)?.row.roots ?? [];
  }

  it('is accepted with a root that is not valid yet, because the clock of the peer may be ahead', async () => {
    const nowMs = createdMs + ROOT_LIFE_MS - 1_000;
    assert.deepEqual(await applyBundle(api(), 'ahead', nowMs, [first, second]), [first, second]);
  });

  it('is stored without expired roots', async () => {
    assert.deepEqual(await applyBundle(api(), 'expired', createdMs + ROOT_LIFE_MS, [first, second]), [second]);
  });

  it('is rejected when all roots have expired, one is malformed, or none is given', async () => {
    const assertRefused = async (peering: string, words: RegExp, ...roots: string[]): Promise<void> => {
      const applying = applyBundle(api(), peering, createdMs + ROOT_LIFE_MS, roots);
      await assert.rejects(applying, (error) => error instanceof ApplyRefused && words.test(error.message));
    };
    await assertRefused('nothing', /^the trust bundle: the certificate expired at 2040/, first);
    await assertRefused('none', /^the trust bundle: certificate 2 is not one certificate in PEM$/, second, 'hello');
    await assertRefused('empty', /^the trust bundle contains no CA root$/);
  });

  describe('of a peer without a token [STREAM-100]', () => {
    const bind = (peering: string, TrustDomain: string, ...roots: string[]): Promise<readonly string[]> =>
      applyBundle(api(), peering, createdMs + 1_000, roots, TrustDomain);
    const assertRefused = async (applying: Promise<unknown>, words: RegExp): Promise<void> => {
      await assert.rejects(applying, (error) => error instanceof ApplyRefused && words.test(error.message));
    };

    it('binds the peering to its trust domain', async () => {
      await bind('bound', 'bound.accord', first);
      await assertRefused(
        bind('bound', 'other.accord', first),
        /^the trust bundle is of "other.accord": this peering is/,
      );
      assert.deepEqual(await bind('bound', 'bound.accord', first, second), [first, second]);
    });

    it('is refused with the domain of this cluster', async () => {
      await assertRefused(bind('mirror', 'HERE.accord', first), /that is the domain of this cluster$/);
    });

    it('adds no root to the domain of another peer, also in another spelling', async () => {
      await bind('victim', 'victim.accord', first);
      for (const domain of ['victim.accord', 'VICTIM.accord']) {
        const reason = /that is the domain of peer "victim", which has other CA roots$/;
        await assertRefused(bind('thief', domain, first, second), reason);
      }
      // A second peering with the same cluster has the same roots.
      assert.deepEqual(await bind('sibling', 'victim.accord', first), [first]);
    });

    it('of a second peering is applied after that of the first when both change at the same time', async () => {
      await bind('one', 'twice.accord', first);
      await bind('two', 'twice.accord', first);
      const rotated = [bind('two', 'twice.accord', first, second), bind('one', 'twice.accord', first, second)];
      assert.deepEqual(await Promise.all(rotated), [
        [first, second],
        [first, second],
      ]);
    });
  });
});
