import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { commandsOf, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord user', () => {
  const api = sharedApi();

  test('a user is made with a token, which is told once, alone, on standard output', async () => {
    const admin = commandsOf(api(), api().adminToken);
    const { stdout, stderr } = await admin.run('user create ada --email ada@example.org');
    assert.match(stdout, /^\w{14}\.atlasv1\.\w{67}\n$/);
    assert.equal(stderr, 'Made user ada. The token is not shown again.\n');
    const ada = commandsOf(api(), stdout.trim());
    assert.match(
      await ada.done('user self'),
      /^Username +ada\nID +user-\w{16}\nE-mail +ada@example\.org\nSite administrator +no\n$/,
    );
    const users = await admin.done('user list');
    assert.match(
      users,
      /^USERNAME +E-MAIL +SITE ADMIN +ID\nadmin .* yes +user-\S+\nada +ada@example\.org +user-\w{16}\n$/,
    );
    assert.ok(!users.includes(stdout.trim()));
  });

  test('a user is deleted by username, in any case, or by ID, and their token is good for nothing', async () => {
    const admin = commandsOf(api(), api().adminToken);
    for (const name of ['gone', 'gone-too']) {
      const theirs = await commandsOfNewUser(api(), name);
      const { id } = await theirs.json<{ readonly id: string }>('user self');
      const named = name === 'gone' ? 'GONE' : id;
      assert.equal((await admin.run(`user delete ${named}`)).stderr, `Deleted user ${named}.\n`);
      assert.match(await theirs.refused('user self'), /token/);
    }
    const still = await admin.done('user list');
    assert.doesNotMatch(still, /gone/);
    assert.equal(await admin.refused('user delete gone'), 'accord: user gone: not found, or you may not change it\n');
    const dora = await commandsOfNewUser(api(), 'dora');
    assert.match(await dora.refused('user delete admin'), /not found, or you may not/);
    assert.match(await admin.refused('user delete admin'), /the last site administrator cannot go/);
  });

  test('users are made and listed by site administrators alone', async () => {
    const ben = await commandsOfNewUser(api(), 'ben');
    assert.equal(
      await ben.refused('user create x --email x@example.org'),
      'accord: the list of all users: not found, or you may not change it\n',
    );
    assert.equal(await ben.refused('user list'), 'accord: the list of all users: not found, or you may not see it\n');
    const admin = commandsOf(api(), api().adminToken);
    const second = commandsOf(api(), (await admin.done('user create root --email r@example.org --site-admin')).trim());
    assert.match(await second.done('user list'), /\nroot +r@example\.org +yes /);
  });
});
