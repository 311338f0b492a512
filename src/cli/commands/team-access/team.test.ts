import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { accord } from '../../../../test/support/process/cli-harness.ts';
import { type Commands, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord team', () => {
  const api = sharedApi();
  let ada: Commands;
  let ben: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    ben = await commandsOfNewUser(api(), 'ben');
    await ada.done('organization create acme --email it@example.org');
    await ada.done('organization add-member acme ben@example.org');
  });

  const idOf = async (team: string): Promise<string> => (await ada.json<{ id: string }>(`team show ${team}`)).id;

  test('a team is made, shown, changed and deleted, by name or by ID', async () => {
    assert.match(
      await ada.done('team create acme/dev --visibility organization --allow read-workspaces --allow manage-teams'),
      /^Name +dev\nID +team-\w{16}\nOrganization +acme\nVisibility +organization\nMembers +0\nPermissions +read-workspaces, manage-teams\nTokens by +owners and members\n$/,
    );
    const id = await idOf('acme/dev');
    await ada.done(`team update acme/DEV --name ops --forbid manage-teams --description builds --no-member-tokens`);
    assert.match(
      await ada.done(`team show ${id}`),
      /^Name +ops\n.*\n.*\nDescription +builds\n.*\nMembers\nPermissions +read-workspaces\nTokens by +owners\n$/,
    );
    assert.match(
      await ada.done('team list acme'),
      /^NAME +VISIBILITY .*\nowners .*\nops +organization +0 +team-\S+ +read-workspaces +builds\n$/,
    );
    assert.equal((await ada.run('team delete acme/ops')).stderr, 'Deleted team acme/ops.\n');
    assert.equal(await ada.refused(`team show ${id}`), `accord: team ${id}: not found, or you may not see it\n`);
    assert.equal(
      await ada.refused('team delete acme/ops'),
      'accord: team acme/ops: not found, or you may not see it\n',
    );
  });

  test('two teams are not one, and none of them is deleted', async () => {
    for (const name of ['one', 'two']) await ada.done(`team create acme/${name}`);
    for (const names of ['one,two', 'one,', 'two,absent']) {
      const text = `accord: team acme/${names}: not found, or you may not see it\n`;
      assert.equal(await ada.refused(`team delete acme/${names}`), text);
    }
    for (const name of ['one', 'two']) await ada.done(`team delete acme/${name}`);
  });

  test('members are added and removed by username, all or none', async () => {
    await ada.done('team create acme/crew');
    assert.equal((await ada.run('team add-member acme/crew ben ada')).stderr, 'ben, ada: in team acme/crew.\n');
    assert.match(await ada.done('team show acme/crew'), /\nMembers +(ada, ben|ben, ada)\n/);
    assert.equal((await ada.run('team remove-member acme/crew ada')).stderr, 'ada: not in team acme/crew any more.\n');
    assert.equal(
      await ada.refused('team remove-member acme/crew ben nobody'),
      'accord: membership of ben, nobody in team acme/crew: not found, or you may not change it\n',
    );
    assert.match(await ada.done('team show acme/crew'), /\nMembers +ben\n/);
  });

  test('a team that somebody may not know of is not found, as one that is not there', async () => {
    await ada.done('team create acme/secret');
    const hidden = await ben.refused('team show acme/secret');
    assert.equal(hidden, 'accord: team acme/secret: not found, or you may not see it\n');
    assert.equal((await ben.refused('team show acme/absent')).replace('absent', 'secret'), hidden);
    await ada.done('team create acme/open --visibility organization');
    assert.equal(
      await ben.refused('team update acme/open --name mine'),
      'accord: team acme/open: not found, or you may not change it\n',
    );
  });

  test('a permission that there is not is refused, since the API takes no notice of it', async () => {
    for (const line of ['team create acme/strong --allow manage-workspace', 'team update acme/owners --forbid reed']) {
      const { exitCode, stdout, stderr } = await ada.run(line);
      assert.deepEqual([exitCode, stdout], [2, ''], line);
      assert.match(stderr, /^accord: "(manage-workspace|reed)" is no permission: want .*manage-workspaces, /);
    }
    assert.match(await ada.refused('team show acme/strong'), /not found/);
  });

  test('what names no team is wrong use', async () => {
    for (const line of ['team show dev', 'team create dev', 'team update acme/dev']) {
      const { exitCode, stdout } = await accord(line.split(' '));
      assert.deepEqual([exitCode, stdout], [2, ''], line);
    }
  });
});
