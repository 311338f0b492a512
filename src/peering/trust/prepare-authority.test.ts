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
import { dataKeyCipher, passphraseCipher, type TextCipher } from '../../state/transfer/encryption.ts';
import { exportState } from '../../state/transfer/export.ts';
import { openExportFile } from '../../state/transfer/export-file.ts';
import { importExport } from '../../state/transfer/import.ts';
import { DataKeyError } from '../record/encrypted-secret.ts';
import { rotate } from './api/rotate.ts';
import { authorities, authorityRow, type CertificateAuthority } from './authority.ts';
import { dial, makePeering, openTrust, requestContextFor, type TrustFixture } from './trust.suite.ts';

const dataKey = dataKeyCipher(Buffer.alloc(32, 1));
const otherKey = dataKeyCipher(Buffer.alloc(32, 2));

/** Returns the certificate and the CA roots that peers see. */
const visibleIdentity = ({ identity, state }: TrustFixture): unknown => ({
  served: identity.current(),
  roots: identity.roots(state.snapshot),
});

test('prepareAuthority keeps the certificate and the roots across a restart', async () => {
  await using store = await sqliteStore();
  const clock = createFakeClock();
  const seen = async (): Promise<unknown> => {
    await using fixture = await openTrust({ engine: store.engine(), clock });
    return visibleIdentity(fixture);
  };
  assert.deepEqual(await seen(), await seen());
});

test('prepareAuthority creates one authority when two servers start in parallel, and both serve it', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  for (let round = 0; round < 3; round++) {
    await using store = await etcdStore(etcd);
    const [first, second] = await Promise.all(['a', 'b'].map((node) => openTrust({ engine: store.engine(), node })));
    await using one = first as TrustFixture;
    await using two = second as TrustFixture;
    assert.deepEqual(one.identity.current(), two.identity.current());
    const made = [one, two].filter(({ messages }) => messages.includes('certificate authority created'));
    assert.equal(made.length, 1);
  }
});

test('prepareAuthority warns when it creates an authority for a state with peerings [PEER-93]', async () => {
  await using store = await sqliteStore();
  {
    await using fixture = await openTrust({ engine: store.engine() });
    await makePeering(fixture.state, 'east');
    await fixture.state.write((tx) => tx.delete(authorities, 'authority'));
  }
  await using fixture = await openTrust({ engine: store.engine() });
  assert.ok(fixture.messages.some((message) => message.includes('every peering must be established again')));
});

describe('with a data key', () => {
  const stored = ({ state }: TrustFixture): string => JSON.stringify(authorityRow(state.snapshot));

  test('no private key is stored as plain text [PEER-92]', async () => {
    await using fixture = await openTrust({ dataKey });
    await rotate(fixture.trust, requestContextFor(fixture.token));
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

  test('plain keys are encrypted at the next start, in every stage, and do not change', async () => {
    await using store = await sqliteStore();
    let before: CertificateAuthority;
    let served: unknown;
    {
      await using fixture = await openTrust({ engine: store.engine() });
      await rotate(fixture.trust, requestContextFor(fixture.token));
      assert.match(stored(fixture), /PRIVATE KEY/);
      before = authorityRow(fixture.state.snapshot) as CertificateAuthority;
      served = fixture.identity.current();
    }
    await using fixture = await openTrust({ engine: store.engine(), dataKey });
    assert.doesNotMatch(stored(fixture), /PRIVATE KEY/);
    assert.deepEqual(fixture.identity.current(), served);
    const after = authorityRow(fixture.state.snapshot);
    assert.equal(after.rotation?.since, before.rotation?.since);
    assert.equal(after.current.root.certificate, before.current.root.certificate);
  });

  for (const [which, wrong, message] of [
    ['no', undefined, /^data-key-file is not set/],
    ['another', otherKey, /^data-key-file holds another key/],
  ] as const) {
    test(`a start with ${which} data key fails, names the setting and changes nothing [SRV-32]`, async () => {
      await using store = await sqliteStore();
      let before: string;
      {
        await using fixture = await openTrust({ engine: store.engine(), dataKey });
        before = stored(fixture);
      }
      const opened = openTrust({ engine: store.engine(), ...(wrong === undefined ? {} : { dataKey: wrong }) });
      await assert.rejects(opened, (error) => error instanceof DataKeyError && message.test(error.message));
      await using fixture = await openTrust({ engine: store.engine(), dataKey });
      assert.equal(stored(fixture), before);
    });
  }
});

describe('an export', () => {
  /**
   * Starts a server from an export of the fixture.
   * @param keys the data key of the new server and the key of the export
   */
  async function moved(
    fixture: TrustFixture,
    cipher: TextCipher | undefined,
    keys: { readonly dataKey?: TextCipher; readonly exportCipher?: TextCipher },
  ): Promise<{ readonly identity: unknown; readonly messages: readonly string[] }> {
    await using folder = await temporaryDirectory();
    const file = path.join(folder.path, 'export');
    const signal = AbortSignal.timeout(20_000);
    await writeFile(file, await Array.fromAsync(exportState(fixture.state, { cipher, now: 0, signal })));
    const engine = sqliteEngine({ directory: folder.path });
    const opened = engine.open.bind(engine);
    engine.open = async (...given) => {
      await opened(...given);
      const cipherFor = async (): Promise<TextCipher> =>
        keys.exportCipher ?? assert.fail('the export is not encrypted');
      await using exported = await openExportFile(file);
      await importExport(exported, { engine, schema: fixture.state.schema, cipherFor, signal });
    };
    await using other = await openTrust({
      engine,
      ...(keys.dataKey === undefined ? {} : { dataKey: keys.dataKey }),
    });
    return { identity: visibleIdentity(other), messages: other.messages };
  }

  test('encrypted with the data key restores the certificates on a server with that key', async () => {
    await using fixture = await openTrust({ dataKey });
    assert.deepEqual(
      (await moved(fixture, dataKey, { dataKey, exportCipher: dataKey })).identity,
      visibleIdentity(fixture),
    );
  });

  test('encrypted with a passphrase restores encrypted and plain keys', async () => {
    const passphrase = await passphraseCipher('correct horse battery');
    await using encrypted = await openTrust({ dataKey });
    const imported = await moved(encrypted, passphrase, { dataKey, exportCipher: passphrase });
    assert.deepEqual(imported.identity, visibleIdentity(encrypted));
    await using plain = await openTrust();
    assert.deepEqual((await moved(plain, passphrase, { exportCipher: passphrase })).identity, visibleIdentity(plain));
  });

  test('encrypted with a passphrase requires the data key of the exported state', async () => {
    const passphrase = await passphraseCipher('correct horse battery');
    await using fixture = await openTrust({ dataKey });
    await assert.rejects(moved(fixture, passphrase, { exportCipher: passphrase }), DataKeyError);
  });

  test('without secrets creates a new authority and logs a warning [PEER-93]', async () => {
    await using fixture = await openTrust();
    await makePeering(fixture.state, 'east');
    const other = await moved(fixture, undefined, {});
    assert.notDeepEqual(other.identity, visibleIdentity(fixture));
    assert.ok(other.messages.some((message) => message.includes('every peering must be established again')));
  });
});
