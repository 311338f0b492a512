import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { runCli } from '../../../../test/support/process/cli-harness.ts';
import { type Commands, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord team', () => {
  const api = sharedApi();
  let ada: Commands;
  let ben: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    ben = await commandsOfNewUser(api(), 'ben');
    await ada.expectSuccess('organization create acme --email it@example.org');
    await ada.expectSuccess('organization add-member acme ben@example.org');
  });

  const idOf = async (team: string): Promise<string> => (await ada.json<{ id: string }>(`team show ${team}`)).id;

  test('creates, shows, updates, and deletes a team by name or ID', async () => {
    assert.match(
      await ada.expectSuccess(
        'team create acme/dev --visibility organization --allow read-workspaces --allow manage-teams',
      ),
      /^Name +dev\nID +team-\w{16}\nOrganization +acme\nVisibility +organization\nMembers +0\nPermissions +read-workspaces, manage-teams\nTokens by +owners and members\n$/,
    );
    const id = await idOf('acme/dev');
    await ada.expectSuccess(
      `team update acme/DEV --name ops --forbid manage-teams --description builds --no-member-tokens`,
    );
    assert.match(
      await ada.expectSuccess(`team show ${id}`),
      /^Name +ops\n.*\n.*\nDescription +builds\n.*\nMembers\nPermissions +read-workspaces\nTokens by +owners\n$/,
    );
    assert.match(
      await ada.expectSuccess('team list acme'),
      /^NAME +VISIBILITY .*\nowners .*\nops +organization +0 +team-\S+ +read-workspaces +builds\n$/,
    );
    assert.equal((await ada.run('team delete acme/ops --yes')).stderr, 'Deleted team acme/ops.\n');
    assert.equal(await ada.expectFailure(`team show ${id}`), `accord: team ${id}: not found, or you may not see it\n`);
    assert.equal(
      await ada.expectFailure('team delete acme/ops --yes'),
      'accord: team acme/ops: not found, or you may not see it\n',
    );
  });

  test('rejects a name that contains a comma', async () => {
    for (const name of ['one', 'two']) await ada.expectSuccess(`team create acme/${name}`);
    for (const names of ['one,two', 'one,', 'two,absent']) {
      const text = `accord: team acme/${names}: not found, or you may not see it\n`;
      assert.equal(await ada.expectFailure(`team delete acme/${names} --yes`), text);
    }
    for (const name of ['one', 'two']) await ada.expectSuccess(`team delete acme/${name} --yes`);
  });

  test('adds and removes members atomically [AUTHZ-49]', async () => {
    await ada.expectSuccess('team create acme/crew');
    assert.equal((await ada.run('team add-member acme/crew ben ada')).stderr, 'Added ben, ada to team acme/crew.\n');
    assert.match(await ada.expectSuccess('team show acme/crew'), /\nMembers +(ada, ben|ben, ada)\n/);
    assert.equal((await ada.run('team remove-member acme/crew ada')).stderr, 'Removed ada from team acme/crew.\n');
    assert.equal(
      await ada.expectFailure('team remove-member acme/crew ben nobody'),
      'accord: membership of ben, nobody in team acme/crew: not found, or you may not change it\n',
    );
    assert.match(await ada.expectSuccess('team show acme/crew'), /\nMembers +ben\n/);
  });

  test('reports a hidden team like a missing one', async () => {
    await ada.expectSuccess('team create acme/secret');
    const hidden = await ben.expectFailure('team show acme/secret');
    assert.equal(hidden, 'accord: team acme/secret: not found, or you may not see it\n');
    assert.equal((await ben.expectFailure('team show acme/absent')).replace('absent', 'secret'), hidden);
    await ada.expectSuccess('team create acme/open --visibility organization');
    assert.equal(
      await ben.expectFailure('team update acme/open --name mine'),
      'accord: team acme/open: not found, or you may not change it\n',
    );
  });

  test('rejects unknown permissions, which the API ignores', async () => {
    for (const line of ['team create acme/strong --allow manage-workspace', 'team update acme/owners --forbid reed']) {
      const { exitCode, stdout, stderr } = await ada.run(line);
      assert.deepEqual([exitCode, stdout], [2, ''], line);
      assert.match(stderr, /^accord: unknown permission "(manage-workspace|reed)": want .*manage-workspaces, /);
    }
    assert.match(await ada.expectFailure('team show acme/strong'), /not found/);
  });

  test('an invalid team reference or an update without a property is a usage error', async () => {
    for (const line of ['team show dev', 'team create dev', 'team update acme/dev']) {
      const { exitCode, stdout } = await runCli(line.split(' '));
      assert.deepEqual([exitCode, stdout], [2, ''], line);
    }
  });
});
