import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { openState } from '../../test/support/state/state.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { auditLog } from '../audit/record.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';
import type { State } from '../state/state.ts';
import { defineSchema } from '../state/table.ts';
import { aclTokens } from './acl-token.ts';
import { cluster } from './cluster.ts';
import { credentialsPath, readCredentials, writeCredentials } from './credentials-file.ts';
import {
  type FirstStart,
  FirstStartError,
  makeFirstCredentials,
  type PresetSecrets,
  recoverCredentials,
} from './first-credentials.ts';
import { EVERYTHING } from './grant.ts';
import { partitions } from './partition.ts';
import { hashSecret } from './secret.ts';
import { users, userTokens } from './user.ts';

const NONE: PresetSecrets = { aclToken: undefined, adminToken: undefined };
const schema = defineSchema([cluster, partitions, aclTokens, users, userTokens, auditLog]);

interface Place extends AsyncDisposable {
  readonly directory: string;
  readonly state: State;
  start(changes?: Partial<FirstStart>): FirstStart;
}

/** An empty state with a data directory. */
async function place(): Promise<Place> {
  const temporary = await temporaryDirectory();
  const clock = createFakeClock(Date.UTC(2030, 0, 1));
  const state = await openState(sqliteEngine({ directory: temporary.path }), { schema, clock });
  const directory = temporary.path;
  return {
    directory,
    state,
    start: (changes = {}) => ({
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

const isGood = ({ snapshot }: State, secretId = ''): boolean =>
  snapshot.find(aclTokens, 'secretHash', hashSecret(secretId)) !== undefined;

describe('the first start', () => {
  test('makes a token with every grant, an administrator and the default partition, and writes them down', async () => {
    await using at = await place();
    assert.equal(await makeFirstCredentials(at.start()), true);
    const file = await readCredentials(at.directory);
    assert.equal(file?.address, 'http://127.0.0.1:8500');
    assert.match(file.peering.secretId, /^[0-9a-f-]{36}$/);
    assert.match(file.teamAccess.token, /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/);
    const { snapshot } = at.state;
    const token = snapshot.find(aclTokens, 'secretHash', hashSecret(file.peering.secretId));
    assert.deepEqual([token?.row.accessorId, token?.row.grants], [file.peering.accessorId, EVERYTHING]);
    const admin = snapshot.find(users, 'username', file.teamAccess.username);
    assert.equal(admin?.row.siteAdmin, true);
    const userToken = snapshot.find(userTokens, 'secretHash', hashSecret(file.teamAccess.token));
    assert.equal(userToken?.row.userId, admin.row.id);
    assert.deepEqual(
      snapshot.all(partitions).map(({ row }) => row.name),
      ['default'],
    );
  });

  test('is the only one', async () => {
    await using at = await place();
    await makeFirstCredentials(at.start());
    const before = await readFile(credentialsPath(at.directory), 'utf8');
    const { snapshot } = at.state;
    const presetSecrets = (): PresetSecrets => assert.fail('they are read on an empty state only');
    assert.equal(await makeFirstCredentials(at.start({ presetSecrets })), false);
    assert.equal(at.state.snapshot, snapshot);
    assert.equal(await readFile(credentialsPath(at.directory), 'utf8'), before);
  });

  test('that was cut off between the file and the commit is finished with what the file says', async () => {
    await using at = await place();
    await using closed = await place();
    await closed.state[Symbol.asyncDispose]();
    await assert.rejects(makeFirstCredentials(closed.start({ directory: at.directory })));
    const left = await readCredentials(at.directory);
    assert.ok(left !== undefined);
    assert.equal(isGood(at.state, left.peering.secretId), false);
    assert.equal(await makeFirstCredentials(at.start({ address: 'http://127.0.0.1:9' })), true);
    assert.equal(isGood(at.state, left.peering.secretId), true);
    assert.deepEqual(await readCredentials(at.directory), left);
  });

  test('takes what an operator has set beforehand', async () => {
    await using at = await place();
    const preset = {
      aclToken: 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11',
      adminToken: `${'a'.repeat(14)}.atlasv1.${'b'.repeat(67)}`,
    };
    await makeFirstCredentials(at.start({ presetSecrets: () => preset }));
    const file = await readCredentials(at.directory);
    assert.deepEqual([file?.peering.secretId, file?.teamAccess.token], [preset.aclToken, preset.adminToken]);
    assert.equal(isGood(at.state, preset.aclToken), true);
  });

  const contradictions = [
    [
      'credentials.json that is something else',
      'mine',
      NONE,
      /credentials\.json' is there and holds no credentials of Accord: move it away/,
    ],
    [
      'credentials.json that says otherwise than the settings',
      undefined,
      { ...NONE, aclToken: 'other' },
      /name different credentials: move the file away or unset them/,
    ],
  ] as const;
  for (const [what, text, preset, words] of contradictions) {
    test(`stops at a ${what}, and changes nothing`, async () => {
      await using at = await place();
      const file = {
        address: '',
        peering: { accessorId: 'a', secretId: 's' },
        teamAccess: { username: 'admin', token: 't' },
      };
      if (text === undefined) await writeCredentials(at.directory, file);
      else await writeFile(credentialsPath(at.directory), text);
      const before = await readFile(credentialsPath(at.directory), 'utf8');
      const { snapshot } = at.state;
      await assert.rejects(makeFirstCredentials(at.start({ presetSecrets: () => preset })), (error) => {
        assert.ok(error instanceof FirstStartError);
        assert.match(error.message, words);
        return true;
      });
      assert.equal(await readFile(credentialsPath(at.directory), 'utf8'), before);
      assert.equal(at.state.snapshot, snapshot);
    });
  }

  test('fixes the datacenter', async () => {
    await using at = await place();
    await makeFirstCredentials(at.start());
    await assert.rejects(makeFirstCredentials(at.start({ datacenter: 'dc2' })), {
      name: 'FirstStartError',
      message:
        "cluster.datacenter is 'dc2', but this cluster was made as 'dc1': it is fixed at the first start; set it back",
    });
  });

  test('of two at once on one state makes one pair, and the other has no file', async () => {
    await using at = await place();
    await using elsewhere = await temporaryDirectory();
    const made = await Promise.all([
      makeFirstCredentials(at.start()),
      makeFirstCredentials(at.start({ directory: elsewhere.path })),
    ]);
    assert.deepEqual(made.toSorted(), [false, true]);
    const files = await Promise.all([readCredentials(at.directory), readCredentials(elsewhere.path)]);
    assert.deepEqual(
      files.map((file) => file !== undefined),
      made,
    );
    assert.equal(isGood(at.state, files.find((file) => file !== undefined)?.peering.secretId), true);
    assert.equal(at.state.snapshot.all(aclTokens).length, 1);
  });
});

describe('recovery', () => {
  test('makes a new pair beside the old one, and keeps the old file under another name', async () => {
    await using at = await place();
    await makeFirstCredentials(at.start());
    const old = await readCredentials(at.directory);
    const aside = await recoverCredentials(at.start());
    assert.deepEqual(JSON.parse(await readFile(aside ?? '', 'utf8')), old);
    const next = await readCredentials(at.directory);
    assert.notEqual(next?.peering.secretId, old?.peering.secretId);
    assert.equal(isGood(at.state, next?.peering.secretId), true);
    assert.equal(isGood(at.state, old?.peering.secretId), true);
    assert.equal(at.state.snapshot.all(users).length, 1, 'the administrator gets a further token');
    assert.equal(at.state.snapshot.all(userTokens).length, 2);
    const entries = await at.state.scan(auditLog, { limit: 100 }, new AbortController().signal);
    assert.deepEqual(
      entries.slice(-2).map(({ row }) => [row.actor, row.action, row.type]),
      [
        ['system', 'recover', 'acl-token'],
        ['system', 'recover', 'user-token'],
      ],
    );
    assert.equal((await readdir(at.directory)).filter((name) => name.startsWith('credentials')).length, 2);
  });

  test('gives no token to who has the name of an administrator that was deleted', async () => {
    await using at = await place();
    await makeFirstCredentials(at.start());
    await at.state.write((tx) => {
      const admin = tx.find(users, 'username', 'admin')?.row;
      assert.ok(admin !== undefined);
      tx.delete(users, admin.id);
      const { createTime } = admin;
      const other = { username: 'admin', email: 'admin@elsewhere.example', siteAdmin: false, createTime };
      tx.put(users, { id: 'user-0000000000000001', ...other, unclaimed: true });
    });
    await recoverCredentials(at.start());
    assert.equal((await readCredentials(at.directory))?.teamAccess.username, 'admin-2');
    const made = at.state.snapshot.find(users, 'username', 'admin-2')?.row;
    assert.equal(made?.siteAdmin, true);
    const [token] = at.state.snapshot.all(userTokens);
    assert.equal(token?.row.userId, made?.id);
    await recoverCredentials(at.start());
    assert.equal(at.state.snapshot.all(users).length, 2, 'the new administrator gets a further token');
  });
});
