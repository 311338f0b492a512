import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import {
  type Commands,
  commandsOf,
  commandsOfNewUser,
} from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord access', () => {
  const api = sharedApi();
  let ada: Commands;
  let ben: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    ben = await commandsOfNewUser(api(), 'ben');
    await ada.expectSuccess('organization create acme --email it@example.org');
    await ada.expectSuccess('organization add-member acme ben@example.org');
    await ada.expectSuccess('workspace create acme/main');
    await ada.expectSuccess('team create acme/dev');
    await ada.expectSuccess('team create acme/readers --allow read-workspaces');
    await ada.expectSuccess(
      'team-access add --workspace acme/main --team dev --access custom --runs apply --variables read',
    );
    for (const team of ['dev', 'readers']) await ada.expectSuccess(`team add-member acme/${team} ben`);
  });

  test('explains each attribute with its sources', async () => {
    const explained = await ada.expectSuccess('access explain --user ben --workspace acme/main');
    const [who, workspace, access, gap, ...rows] = explained.trimEnd().split('\n');
    assert.deepEqual(
      [who, workspace, access, gap],
      ['Who        user ben', 'Workspace  acme/main', 'Access     custom', ''],
    );
    assert.deepEqual(
      rows.map((row) => row.replaceAll(/ {2,}/g, '|').replace(/tws-\w{16}/, 'tws-…')),
      [
        'ATTRIBUTE|VALUE|FROM',
        'runs|apply|team access tws-… of team dev',
        'variables|read|permission read-workspaces of team readers',
        '|team access tws-… of team dev',
        'state-versions|read|permission read-workspaces of team readers',
        ...['policy-mocks|none', 'workspace-locking|false', 'run-tasks|false'].flatMap((decision) => [
          `${decision}|permission read-workspaces of team readers`,
          '|team access tws-… of team dev',
        ]),
      ],
    );
  });

  test('explains a team and, by default, the caller', async () => {
    assert.match(
      await ada.expectSuccess('access explain --team dev --workspace acme/main'),
      /^Who +team dev\n.*\nAccess +custom\n(.*\n)*state-versions +none +team access tws-\S+ of team dev\n/,
    );
    assert.match(
      await ada.expectSuccess('access explain --workspace acme/main'),
      /\nadmin +true +team owners, an owner of the organization\n/,
    );
    const token = (await ada.expectSuccess('api-token create --organization acme')).trim();
    assert.match(
      await commandsOf(api(), token).expectSuccess('access explain --workspace acme/main'),
      /\nadmin +true +organization token, an owner\n/,
    );
  });

  test('prints when team access expires', async () => {
    await ada.expectSuccess('workspace create acme/brief');
    const end = '2100-01-01T00:00:00.000Z';
    await ada.expectSuccess(`team-access add --workspace acme/brief --team dev --access read --expires-at ${end}`);
    const words = new RegExp(`team access tws-\\w{16} of team dev, until ${end}\n`);
    assert.match(await ada.expectSuccess('access explain --user ben --workspace acme/brief'), words);
    assert.match(await ada.expectSuccess('access matrix acme'), words);
    await ada.expectSuccess('workspace delete acme/brief --yes');
  });

  test('explain prints "none" for a team without access, and "not found" to a caller without permission', async () => {
    await ada.expectSuccess('workspace create acme/closed');
    assert.equal(
      await ada.expectSuccess('access explain --team dev --workspace acme/closed'),
      'Who        team dev\nWorkspace  acme/closed\nAccess     none\n',
    );
    assert.equal(
      await ben.expectFailure('access explain --user ada --workspace acme/main'),
      'accord: access of user ada to workspace acme/main: not found, or you may not see it\n',
    );
    const { exitCode } = await ben.run('access explain --user ada --team dev --workspace acme/main');
    assert.equal(exitCode, 2);
  });

  test('prints the response with --json', async () => {
    const { attributes } = await ada.json<{ attributes: { access: string; explanation: { attribute: string }[] } }>(
      'access explain --user ben --workspace acme/main',
    );
    assert.equal(attributes.access, 'custom');
    assert.equal(attributes.explanation[0]?.attribute, 'runs');
  });

  test('matrix prints each team on each workspace', async () => {
    const lines = (await ada.expectSuccess('access matrix acme')).trimEnd().split('\n');
    assert.deepEqual(
      lines
        .map((line) => line.replaceAll(/ {2,}/g, '|').replace(/tws-\w{16}/, 'tws-…'))
        .filter((line) => !line.startsWith('closed')),
      [
        'WORKSPACE|TEAM|ACCESS|FROM',
        'main|owners|admin|team owners, an owner of the organization',
        'main|dev|custom|team access tws-… of team dev',
        'main|readers|read|permission read-workspaces of team readers',
      ],
    );
  });

  test('prints team IDs if the plan has no teams', async () => {
    await ada.expectSuccess('organization create small --email it@example.org');
    await ada.expectSuccess('workspace create small/main');
    await commandsOf(api(), api().adminToken).run('organization update small --plan free');
    assert.match(
      await ada.expectSuccess('access explain --workspace small/main'),
      /\nadmin +true +team team-\w{16}, an owner of the organization\n/,
    );
  });
});
