import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startEtcd } from '../../../test/support/process/etcd.ts';
import { etcdStore, sqliteStore } from '../../../test/support/state/store.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { skipWithout } from '../../../test/support/tools.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import { dataKeySealer, passphraseSealer, type Sealer } from '../../state/transfer/encryption.ts';
import { exportState } from '../../state/transfer/export.ts';
import { openExportFile } from '../../state/transfer/export-file.ts';
import { importExport } from '../../state/transfer/import.ts';
import { DataKeyError } from '../record/encrypted-secret.ts';
import { rotate } from './api/rotate.ts';
import { authorities, authorityOf, type CertificateAuthority } from './authority.ts';
import { askedWith, dial, makePeering, openTrust, type TrustFixture } from './trust.suite.ts';

const dataKey = dataKeySealer(Buffer.alloc(32, 1));
const otherKey = dataKeySealer(Buffer.alloc(32, 2));

/** What peers see of a cluster. */
const face = ({ identity, state }: TrustFixture): unknown => ({
  served: identity.current(),
  roots: identity.roots(state.snapshot),
});

test('a restart keeps everything', async () => {
  await using store = await sqliteStore();
  const clock = createFakeClock();
  const seen = async (): Promise<unknown> => {
    await using fixture = await openTrust({ engine: store.engine(), clock });
    return face(fixture);
  };
  assert.deepEqual(await seen(), await seen());
});

test('of two servers that start at once on one store one makes the authority, and both serve it', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  for (let round = 0; round < 3; round++) {
    await using store = await etcdStore(etcd);
    const [first, second] = await Promise.all(['a', 'b'].map((node) => openTrust({ engine: store.engine(), node })));
    await using one = first as TrustFixture;
    await using two = second as TrustFixture;
    assert.deepEqual(one.identity.current(), two.identity.current());
    const made = [one, two].filter(({ messages }) => messages.includes('made the certificate authority'));
    assert.equal(made.length, 1);
  }
});

test('an authority that is made anew beside peerings says that they are lost', async () => {
  await using store = await sqliteStore();
  {
    await using fixture = await openTrust({ engine: store.engine() });
    await makePeering(fixture.state, 'east');
    await fixture.state.write((tx) => tx.delete(authorities, 'authority'));
  }
  await using fixture = await openTrust({ engine: store.engine() });
  assert.ok(fixture.messages.some((message) => message.includes('every peering has to be established again')));
});

describe('with a data key', () => {
  const stored = ({ state }: TrustFixture): string => JSON.stringify(authorityOf(state.snapshot));

  test('no private key lies in the state in clear', async () => {
    await using fixture = await openTrust({ dataKey });
    await rotate(fixture.trust, askedWith(fixture.token));
    assert.doesNotMatch(stored(fixture), /PRIVATE KEY|clear/);
    assert.match(fixture.identity.current().key, /^-----BEGIN PRIVATE KEY-----\n/);
    assert.equal(
      await dial(
        fixture.identity.current(),
        fixture.identity.roots(fixture.state.snapshot),
        fixture.identity.serverName,
      ),
      'h2',
    );
  });

  test('keys that lie in clear are sealed at the next start, in every stage, and stay the same', async () => {
    await using store = await sqliteStore();
    let before: CertificateAuthority;
    let served: unknown;
    {
      await using fixture = await openTrust({ engine: store.engine() });
      await rotate(fixture.trust, askedWith(fixture.token));
      assert.match(stored(fixture), /PRIVATE KEY/);
      before = authorityOf(fixture.state.snapshot) as CertificateAuthority;
      served = fixture.identity.current();
    }
    await using fixture = await openTrust({ engine: store.engine(), dataKey });
    assert.doesNotMatch(stored(fixture), /PRIVATE KEY/);
    assert.deepEqual(fixture.identity.current(), served);
    const after = authorityOf(fixture.state.snapshot);
    assert.equal(after.rotation?.since, before.rotation?.since);
    assert.equal(after.current.root.certificate, before.current.root.certificate);
  });

  for (const [what, wrong, words] of [
    ['no', undefined, /^data-key-file is not set/],
    ['another', otherKey, /^data-key-file holds another key/],
  ] as const) {
    test(`a start with ${what} data key fails, names the setting and changes nothing`, async () => {
      await using store = await sqliteStore();
      let before: string;
      {
        await using fixture = await openTrust({ engine: store.engine(), dataKey });
        before = stored(fixture);
      }
      const opened = openTrust({ engine: store.engine(), ...(wrong === undefined ? {} : { dataKey: wrong }) });
      await assert.rejects(opened, (error) => error instanceof DataKeyError && words.test(error.message));
      await using fixture = await openTrust({ engine: store.engine(), dataKey });
      assert.equal(stored(fixture), before);
    });
  }
});

describe('an export', () => {
  /** Starts a server from an export of the fixture. @param openers what the new server has */
  async function moved(
    fixture: TrustFixture,
    sealer: Sealer | undefined,
    openers: { readonly dataKey?: Sealer; readonly unsealer?: Sealer },
  ): Promise<{ readonly face: unknown; readonly messages: readonly string[] }> {
    await using folder = await temporaryDirectory();
    const file = path.join(folder.path, 'export');
    const signal = AbortSignal.timeout(20_000);
    await writeFile(file, await Array.fromAsync(exportState(fixture.state, { sealer, now: 0, signal })));
    const engine = sqliteEngine({ directory: folder.path });
    const opened = engine.open.bind(engine);
    engine.open = async (...given) => {
      await opened(...given);
      const sealerFor = async (): Promise<Sealer> => openers.unsealer ?? assert.fail('nothing is sealed');
      await using exported = await openExportFile(file);
      await importExport(exported, { engine, schema: fixture.state.schema, sealerFor, signal });
    };
    await using other = await openTrust({
      engine,
      ...(openers.dataKey === undefined ? {} : { dataKey: openers.dataKey }),
    });
    return { face: face(other), messages: other.messages };
  }

  test('under a data key brings the same certificates to a server with that key', async () => {
    await using fixture = await openTrust({ dataKey });
    assert.deepEqual((await moved(fixture, dataKey, { dataKey, unsealer: dataKey })).face, face(fixture));
  });

  test('under a passphrase does too, whether or not keys are sealed within', async () => {
    const passphrase = await passphraseSealer('correct horse battery');
    await using sealed = await openTrust({ dataKey });
    assert.deepEqual((await moved(sealed, passphrase, { dataKey, unsealer: passphrase })).face, face(sealed));
    await using clear = await openTrust();
    assert.deepEqual((await moved(clear, passphrase, { unsealer: passphrase })).face, face(clear));
  });

  test('under a passphrase of a state with a data key needs that key, and says so', async () => {
    const passphrase = await passphraseSealer('correct horse battery');
    await using fixture = await openTrust({ dataKey });
    await assert.rejects(moved(fixture, passphrase, { unsealer: passphrase }), DataKeyError);
  });

  test('without secrets makes the new server a stranger to its peers, who are told', async () => {
    await using fixture = await openTrust();
    await makePeering(fixture.state, 'east');
    const other = await moved(fixture, undefined, {});
    assert.notDeepEqual(other.face, face(fixture));
    assert.ok(other.messages.some((message) => message.includes('every peering has to be established again')));
  });
});
