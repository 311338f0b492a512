import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { type Commands, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord team-access', () => {
  const api = sharedApi();
  let ada: Commands;
  let ben: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    ben = await commandsOfNewUser(api(), 'ben');
    await ada.expectSuccess('organization create acme --email it@example.org');
    await ada.expectSuccess('organization add-member acme ben@example.org');
    for (const name of ['dev', 'ops', 'secret']) await ada.expectSuccess(`team create acme/${name}`);
    await ada.expectSuccess('team add-member acme/dev ben');
  });

  test('adds, lists, shows, updates, and removes team access by workspace and team', async () => {
    await ada.expectSuccess('workspace create acme/main');
    assert.match(
      await ada.expectSuccess('team-access add --workspace acme/main --team dev --access write'),
      /^ID +tws-\w{16}\nWorkspace +acme\/main\nTeam +dev\nAccess +write\nRuns +apply\nVariables +write\nState versions +write\nPolicy mocks +read\nWorkspace locking +true\nRun tasks +false\nExpires +never\n$/,
    );
    const pair = '--workspace acme/main --team acme/dev';
    assert.match(
      await ada.expectSuccess(
        `team-access update ${pair} --access custom --runs plan --workspace-locking false --expires-at 2100-01-01T00:00:00Z`,
      ),
      /\nTeam +dev\nAccess +custom\nRuns +plan\n(.*\n)*Workspace locking +false\n(.*\n)*Expires +2100-01-01T00:00:00\.000Z\nThen +write\n$/,
    );
    assert.match(
      await ada.expectSuccess(`team-access update ${pair} --expires-at never`),
      /\nRuns +plan\n(.*\n)*Expires +never\n$/,
    );
    assert.match(
      await ada.expectSuccess('team-access list --workspace acme/main'),
      /^WORKSPACE +TEAM +ACCESS +RUNS +VARIABLES +STATE VERSIONS +POLICY MOCKS +WORKSPACE LOCKING +RUN TASKS +EXPIRES +ID\nacme\/main +dev +custom +plan +write +write +read +false +false +never +tws-\w{16}\n$/,
    );
    const { id } = await ada.json<{ id: string }>(`team-access show ${pair}`);
    assert.match(await ada.expectSuccess(`team-access show ${id}`), /^ID +tws-\S+\nWorkspace +acme\/main\nTeam +dev\n/);
    const removed = await ada.run(`team-access remove ${pair}`);
    assert.deepEqual(
      [removed.exitCode, removed.stderr],
      [0, 'Removed access of team acme/dev to workspace acme/main.\n'],
    );
    assert.equal(
      await ada.expectFailure(`team-access remove ${pair}`),
      'accord: access of team acme/dev to workspace acme/main: not found, or you may not see it\n',
    );
    assert.equal(
      await ada.expectFailure(`team-access show ${id}`),
      `accord: team access ${id}: not found, or you may not see it\n`,
    );
  });

  test('lists the access of a team to all workspaces, or to one', async () => {
    for (const name of ['one', 'two']) {
      await ada.expectSuccess(`workspace create acme/${name}`);
      for (const team of ['ops', 'secret'])
        await ada.expectSuccess(`team-access add --workspace acme/${name} --team ${team} --access read`);
    }
    assert.match(
      await ada.expectSuccess('team-access list --team acme/ops'),
      /\nacme\/one +ops +read .*\nacme\/two +ops +read .*\n$/,
    );
    const pair = await ada.json<unknown[]>('team-access list --workspace acme/one --team ops');
    assert.equal(pair.length, 1);
  });

  test('lets a workspace administrator use the ID of a team that they cannot see', async () => {
    await ada.expectSuccess('workspace create acme/shared');
    await ada.expectSuccess('team-access add --workspace acme/shared --team dev --access admin');
    const { id } = await ada.json<{ id: string }>('team show acme/secret');
    assert.equal(
      await ben.expectFailure('team-access add --workspace acme/shared --team secret --access read'),
      'accord: team acme/secret: not found, or you may not see it\n',
    );
    await ben.expectSuccess(`team-access add --workspace acme/shared --team ${id} --access read`);
    assert.match(
      await ben.expectSuccess('team-access list --workspace acme/shared'),
      new RegExp(`\nacme/shared +${id} +read `),
    );
  });

  test("prints the server's error messages", async () => {
    await ada.expectSuccess('workspace create acme/strict');
    const pair = '--workspace acme/strict --team ops';
    assert.equal(
      await ada.expectFailure(`team-access add ${pair} --access all`),
      'accord: invalid attribute: Access is not included in the list (/data/attributes/access)\n',
    );
    assert.equal(
      await ada.expectFailure(`team-access add ${pair} --access custom --run-tasks yes`),
      'accord: invalid attribute: Run tasks is not included in the list (/data/attributes/run-tasks)\n',
    );
    await ada.expectSuccess(`team-access add ${pair} --access read`);
    assert.match(await ada.expectFailure(`team-access add ${pair} --access read`), /Team has already been taken/);
    assert.match(
      await ada.expectFailure(`team-access update ${pair} --runs plan`),
      /Runs is read-only when access level is 'read'/,
    );
  });

  test('missing references and an update without a property are usage errors', async () => {
    for (const line of [
      'team-access list',
      'team-access show',
      'team-access show --workspace acme/main',
      'team-access remove --team acme/dev',
      'team-access show tws-1 --team acme/dev',
      'team-access add --workspace acme/main --access read',
      'team-access update --workspace acme/main --team dev',
    ]) {
      const { exitCode, stdout, stderr } = await ada.run(line);
      assert.deepEqual([exitCode, stdout], [2, ''], `${line}: ${stderr}`);
    }
  });
});
