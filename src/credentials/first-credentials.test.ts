import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { openState } from '../../test/support/state/state.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { auditLog } from '../audit/record.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';
import type { State } from '../state/state.ts';
import { defineSchema } from '../state/table.ts';
import { ALL_GRANTS, aclTokens } from './acl-token.ts';
import { cluster } from './cluster.ts';
import {
  credentialsPath,
  readCredentials,
  removeCredentials,
  writeCredentials,
  writePendingCredentials,
} from './credentials-file.ts';
import {
  completeRecovery,
  createFirstCredentials,
  FirstStartError,
  type FirstStartOptions,
  type PresetSecrets,
  recoverCredentials,
} from './first-credentials.ts';
import { hashSecret } from './ids-and-secrets.ts';
import { partitions } from './partition.ts';
import { users, userTokens } from './user.ts';

const NONE: PresetSecrets = { aclToken: undefined, adminToken: undefined };
const schema = defineSchema([cluster, partitions, aclTokens, users, userTokens, auditLog]);

interface Scene extends AsyncDisposable {
  readonly directory: string;
  readonly state: State;
  options(changes?: Partial<FirstStartOptions>): FirstStartOptions;
}

/** Opens an empty state in a new data directory. */
async function openScene(): Promise<Scene> {
  const temporary = await temporaryDirectory();
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  const state = await openState(sqliteEngine({ directory: temporary.path }), { schema, clock });
  const directory = temporary.path;
  return {
    directory,
    state,
    options: (changes = {}) => ({
      state,
      clock,
      directory,
      address: 'http://127.0.0.1:8500',
      datacenter: 'dc1',
      presetSecrets: () => NONE,
      ...changes,
    }),
    async [Symbol.asyncDispose]() {
      await state[Symbol.asyncDispose]();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

const isValid = ({ snapshot }: State, secretId = ''): boolean =>
  snapshot.find(aclTokens, 'secretHash', hashSecret(secretId)) !== undefined;

describe('createFirstCredentials', () => {
  test('creates a token with every grant, an administrator and the default partition [SRV-36]', async () => {
    await using scene = await openScene();
    assert.equal(await createFirstCredentials(scene.options()), true);
    const file = await readCredentials(scene.directory);
    assert.equal(file?.address, 'http://127.0.0.1:8500');
    assert.match(file.peering.secretId, /^[0-9a-f-]{36}$/);
    assert.match(file.teamAccess.token, /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/);
    const { snapshot } = scene.state;
    const token = snapshot.find(aclTokens, 'secretHash', hashSecret(file.peering.secretId));
    assert.deepEqual([token?.row.accessorId, token?.row.grants], [file.peering.accessorId, ALL_GRANTS]);
    const admin = snapshot.find(users, 'username', file.teamAccess.username);
    assert.equal(admin?.row.siteAdmin, true);
    const userToken = snapshot.find(userTokens, 'secretHash', hashSecret(file.teamAccess.token));
    assert.equal(userToken?.row.userId, admin.row.id);
    assert.deepEqual(
      snapshot.all(partitions).map(({ row }) => row.name),
      ['default'],
    );
  });

  test('changes nothing and reads no bootstrap settings if the state is not empty', async () => {
    await using scene = await openScene();
    await createFirstCredentials(scene.options());
    const before = await readFile(credentialsPath(scene.directory), 'utf8');
    const { snapshot } = scene.state;
    const presetSecrets = (): PresetSecrets => assert.fail('read on a state that is not empty');
    assert.equal(await createFirstCredentials(scene.options({ presetSecrets })), false);
    assert.equal(scene.state.snapshot, snapshot);
    assert.equal(await readFile(credentialsPath(scene.directory), 'utf8'), before);
  });

  test('commits what the file contains after a crash between the file and the commit [SRV-39]', async () => {
    await using scene = await openScene();
    await using closed = await openScene();
    await closed.state[Symbol.asyncDispose]();
    await assert.rejects(createFirstCredentials(closed.options({ directory: scene.directory })));
    const left = await readCredentials(scene.directory);
    assert.ok(left !== undefined);
    assert.equal(isValid(scene.state, left.peering.secretId), false);
    assert.equal(await createFirstCredentials(scene.options({ address: 'http://127.0.0.1:9' })), true);
    assert.equal(isValid(scene.state, left.peering.secretId), true);
    assert.deepEqual(await readCredentials(scene.directory), left);
  });

  test('uses the secrets of the bootstrap settings [SRV-41]', async () => {
    await using scene = await openScene();
    const preset = {
      aclToken: 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11',
      adminToken: `${'a'.repeat(14)}.atlasv1.${'b'.repeat(67)}`,
    };
    await createFirstCredentials(scene.options({ presetSecrets: () => preset }));
    const file = await readCredentials(scene.directory);
    assert.deepEqual([file?.peering.secretId, file?.teamAccess.token], [preset.aclToken, preset.adminToken]);
    assert.equal(isValid(scene.state, preset.aclToken), true);
  });

  const contradictions = [
    [
      'credentials.json contains something else [SRV-40]',
      'mine',
      NONE,
      /credentials\.json' exists and contains no credentials of Accord: move it away/,
    ],
    [
      'credentials.json and the bootstrap settings differ [SRV-42]',
      undefined,
      { ...NONE, aclToken: 'other' },
      /name different credentials: move the file away or unset them/,
    ],
  ] as const;
  for (const [condition, text, preset, message] of contradictions) {
    test(`throws and changes nothing if ${condition}`, async () => {
      await using scene = await openScene();
      const file = {
        address: '',
        peering: { accessorId: 'a', secretId: 's' },
        teamAccess: { username: 'admin', token: 't' },
      };
      if (text === undefined) await writeCredentials(scene.directory, file);
      else await writeFile(credentialsPath(scene.directory), text);
      const before = await readFile(credentialsPath(scene.directory), 'utf8');
      const { snapshot } = scene.state;
      await assert.rejects(createFirstCredentials(scene.options({ presetSecrets: () => preset })), (error) => {
        assert.ok(error instanceof FirstStartError);
        assert.match(error.message, message);
        return true;
      });
      assert.equal(await readFile(credentialsPath(scene.directory), 'utf8'), before);
      assert.equal(scene.state.snapshot, snapshot);
    });
  }

  test('throws if cluster.datacenter differs from that of the first start [SRV-33] [PEER-83]', async () => {
    await using scene = await openScene();
    await createFirstCredentials(scene.options());
    await assert.rejects(createFirstCredentials(scene.options({ datacenter: 'dc2' })), {
      name: 'FirstStartError',
      message:
        "cluster.datacenter is 'dc2', but this cluster was created as 'dc1': it is fixed at the first start; set it back",
    });
  });

  test('creates one pair for two concurrent first starts, and deletes the other file [SRV-43]', async () => {
    await using scene = await openScene();
    await using elsewhere = await temporaryDirectory();
    const made = await Promise.all([
      createFirstCredentials(scene.options()),
      createFirstCredentials(scene.options({ directory: elsewhere.path })),
    ]);
    assert.deepEqual(made.toSorted(), [false, true]);
    const files = await Promise.all([readCredentials(scene.directory), readCredentials(elsewhere.path)]);
    assert.deepEqual(
      files.map((file) => file !== undefined),
      made,
    );
    assert.equal(isValid(scene.state, files.find((file) => file !== undefined)?.peering.secretId), true);
    assert.equal(scene.state.snapshot.all(aclTokens).length, 1);
  });
});

describe('recoverCredentials', () => {
  test('creates a second pair and moves the old file aside [SRV-45]', async () => {
    await using scene = await openScene();
    await createFirstCredentials(scene.options());
    const old = await readCredentials(scene.directory);
    const previousFile = await recoverCredentials(scene.options());
    assert.deepEqual(JSON.parse(await readFile(previousFile ?? '', 'utf8')), old);
    const next = await readCredentials(scene.directory);
    assert.notEqual(next?.peering.secretId, old?.peering.secretId);
    assert.equal(isValid(scene.state, next?.peering.secretId), true);
    assert.equal(isValid(scene.state, old?.peering.secretId), true);
    assert.equal(scene.state.snapshot.all(users).length, 1, 'the administrator gets a further token');
    assert.equal(scene.state.snapshot.all(userTokens).length, 2);
    const entries = await scene.state.scan(auditLog, { limit: 100 }, new AbortController().signal);
    assert.deepEqual(
      entries.slice(-2).map(({ row }) => [row.actor, row.action, row.type]),
      [
        ['system', 'recover', 'acl-token'],
        ['system', 'recover', 'user-token'],
      ],
    );
    assert.equal((await readdir(scene.directory)).filter((name) => name.startsWith('credentials')).length, 2);
  });

  test('interrupted before or after its commit is forgotten or completed by the next start [SRV-45]', async () => {
    await using scene = await openScene();
    await createFirstCredentials(scene.options());
    const first = await readCredentials(scene.directory);
    assert.ok(first !== undefined);
    const files = async (): Promise<string[]> =>
      (await readdir(scene.directory)).filter((name) => name.startsWith('credentials'));
    // Killed before the commit.
    const never = { ...first, peering: { ...first.peering, accessorId: 'never' } };
    await writePendingCredentials(scene.directory, never);
    assert.equal(await completeRecovery(scene.options()), false);
    assert.deepEqual([await readCredentials(scene.directory), await files()], [first, ['credentials.json']]);
    // Killed after the commit: the state holds the pending credentials.
    await recoverCredentials(scene.options());
    const second = await readCredentials(scene.directory);
    assert.ok(second !== undefined);
    await removeCredentials(scene.directory);
    await writePendingCredentials(scene.directory, second);
    assert.equal(await completeRecovery(scene.options()), true);
    assert.deepEqual(await readCredentials(scene.directory), second);
    assert.equal(await completeRecovery(scene.options()), false);
  });

  test('and temporary files of a killed server are removed by the next start [SRV-38]', async () => {
    await using scene = await openScene();
    for (const name of ['credentials.json.1.tmp', 'credentials.pending.json.2.tmp', 'other.tmp']) {
      await writeFile(path.join(scene.directory, name), 'a secret');
    }
    await completeRecovery(scene.options());
    const left = (await readdir(scene.directory)).filter((name) => name.endsWith('.tmp'));
    assert.deepEqual(left, ['other.tmp']);
  });

  test('creates admin-2 if a user who is not a site administrator is named admin [SRV-46]', async () => {
    await using scene = await openScene();
    await createFirstCredentials(scene.options());
    await scene.state.write((tx) => {
      const admin = tx.find(users, 'username', 'admin')?.row;
      assert.ok(admin !== undefined);
      tx.delete(users, admin.id);
      const { createTime } = admin;
      const other = { username: 'admin', email: 'admin@elsewhere.example', siteAdmin: false, createTime };
      tx.put(users, { id: 'user-0000000000000001', ...other, unclaimed: true });
    });
    await recoverCredentials(scene.options());
    assert.equal((await readCredentials(scene.directory))?.teamAccess.username, 'admin-2');
    const made = scene.state.snapshot.find(users, 'username', 'admin-2')?.row;
    assert.equal(made?.siteAdmin, true);
    const [token] = scene.state.snapshot.all(userTokens);
    assert.equal(token?.row.userId, made?.id);
    await recoverCredentials(scene.options());
    assert.equal(scene.state.snapshot.all(users).length, 2, 'the new administrator gets a further token');
  });
});
