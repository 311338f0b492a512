import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { commandsOf, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord user', () => {
  const api = sharedApi();

  test('creates a user and prints only the token on standard output', async () => {
    const admin = commandsOf(api(), api().adminToken);
    const { stdout, stderr } = await admin.run('user create ada --email ada@example.org');
    assert.match(stdout, /^\w{14}\.atlasv1\.\w{67}\n$/);
    assert.equal(stderr, 'Created user ada. The token is not shown again.\n');
    const ada = commandsOf(api(), stdout.trim());
    assert.match(
      await ada.expectSuccess('user self'),
      /^Username +ada\nID +user-\w{16}\nEmail +ada@example\.org\nSite administrator +no\n$/,
    );
    const users = await admin.expectSuccess('user list');
    assert.match(
      users,
      /^USERNAME +EMAIL +SITE ADMIN +SUSPENDED +ID\nadmin .* yes +user-\S+\nada +ada@example\.org +user-\w{16}\n$/,
    );
    assert.ok(!users.includes(stdout.trim()));
  });

  test('deletes a user by case-insensitive username or ID and invalidates their token', async () => {
    const admin = commandsOf(api(), api().adminToken);
    for (const name of ['gone', 'gone-too']) {
      const theirs = await commandsOfNewUser(api(), name);
      const { id } = await theirs.json<{ readonly id: string }>('user self');
      const named = name === 'gone' ? 'GONE' : id;
      assert.equal((await admin.run(`user delete ${named} --yes`)).stderr, `Deleted user ${named}.\n`);
      assert.match(await theirs.expectFailure('user self'), /token/);
    }
    const still = await admin.expectSuccess('user list');
    assert.doesNotMatch(still, /gone/);
    assert.equal(
      await admin.expectFailure('user delete gone --yes'),
      'accord: user gone: not found, or you may not change it\n',
    );
    const dora = await commandsOfNewUser(api(), 'dora');
    assert.match(await dora.expectFailure('user delete admin --yes'), /not found, or you may not/);
    assert.match(await admin.expectFailure('user delete admin --yes'), /the last site administrator cannot be deleted/);
  });

  test('suspends a user, and lists and revokes the tokens that they created', async () => {
    const admin = commandsOf(api(), api().adminToken);
    const eve = await commandsOfNewUser(api(), 'eve');
    await eve.expectSuccess('organization create eves --email e@example.org');
    const token = (await eve.expectSuccess('api-token create --organization eves')).trim();
    assert.match(await admin.expectSuccess('user suspend EVE'), /\nSuspended +yes\n/);
    assert.match(await eve.expectFailure('user self'), /token/);
    assert.match(await admin.expectSuccess('user unsuspend eve'), /^Username +eve\nID +user-\w{16}\n/);
    await eve.expectSuccess('user self');
    const listed = await admin.expectSuccess('user tokens eve');
    assert.match(listed, /^ID +ORGANIZATION .*\nat-\w{16} +eves +.*\n$/);
    assert.ok(!listed.includes(token));
    assert.match(await admin.expectFailure('user delete eve --yes'), /last owner of the organization 'eves'/);
    const { id } = await eve.json<{ readonly id: string }>('user self');
    await admin.expectSuccess('user delete eve --transfer-to admin --yes');
    await commandsOf(api(), token).expectSuccess('user self');
    await admin.expectSuccess(`user revoke-tokens ${id}`);
    assert.match(await commandsOf(api(), token).expectFailure('user self'), /token/);
  });

  test('lets only site administrators create and list users', async () => {
    const ben = await commandsOfNewUser(api(), 'ben');
    assert.equal(
      await ben.expectFailure('user create x --email x@example.org'),
      'accord: the list of all users: not found, or you may not change it\n',
    );
    assert.equal(
      await ben.expectFailure('user list'),
      'accord: the list of all users: not found, or you may not see it\n',
    );
    const admin = commandsOf(api(), api().adminToken);
    const second = commandsOf(
      api(),
      (await admin.expectSuccess('user create root --email r@example.org --site-admin')).trim(),
    );
    assert.match(await second.expectSuccess('user list'), /\nroot +r@example\.org +yes /);
  });
});
