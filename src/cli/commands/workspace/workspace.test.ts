import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { type Commands, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord workspace', () => {
  const api = sharedApi();
  let ada: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    await ada.expectSuccess('organization create acme --email it@example.org');
  });

  test('creates, shows, updates, and deletes a workspace by name or ID', async () => {
    assert.match(
      await ada.expectSuccess('workspace create acme/main --description all'),
      /^Name +main\nID +ws-\w{16}\nOrganization +acme\nDescription +all\nCreated +20\S+\nUpdated +20\S+\n$/,
    );
    const { id } = await ada.json<{ id: string }>('workspace show acme/main');
    assert.match(await ada.expectSuccess(`workspace update ${id} --name billing`), /^Name +billing\n/);
    assert.match(
      await ada.expectSuccess('workspace list acme'),
      new RegExp(`^NAME +ID +DESCRIPTION\nbilling +${id} +all\n$`),
    );
    assert.equal((await ada.run('workspace delete acme/billing --yes')).stderr, 'Deleted workspace acme/billing.\n');
    assert.equal(
      await ada.expectFailure(`workspace show ${id}`),
      `accord: workspace ${id}: not found, or you may not see it\n`,
    );
    const { exitCode, stderr } = await ada.run(`workspace update ${id}`);
    assert.deepEqual([exitCode, stderr], [2, 'accord: nothing to change: give --name or --description\n']);
  });

  test('lists all pages of workspaces', async () => {
    await ada.expectSuccess('organization create large --email it@example.org');
    await Promise.all(Array.from({ length: 101 }, (_, i) => ada.expectSuccess(`workspace create large/w${i}`)));
    assert.equal((await ada.json<unknown[]>('workspace list large')).length, 101);
  });
});
