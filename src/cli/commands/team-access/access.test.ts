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
    await ada.done('organization create acme --email it@example.org');
    await ada.done('organization add-member acme ben@example.org');
    await ada.done('workspace create acme/main');
    await ada.done('team create acme/dev');
    await ada.done('team create acme/readers --allow read-workspaces');
    await ada.done('team-access add --workspace acme/main --team dev --access custom --runs apply --variables read');
    for (const team of ['dev', 'readers']) await ada.done(`team add-member acme/${team} ben`);
  });

  test('every attribute is explained with what gives it', async () => {
    const explained = await ada.done('access explain --user ben --workspace acme/main');
    const [who, workspace, access, gap, ...rows] = explained.trimEnd().split('\n');
    assert.deepEqual(
      [who, workspace, access, gap],
      ['Who        user ben', 'Workspace  acme/main', 'Access     custom', ''],
    );
    assert.deepEqual(
      rows.map((row) => row.replaceAll(/ {2,}/g, '|').replace(/tws-\w{16}/, 'tws-…')),
      [
        'ATTRIBUTE|VALUE|FROM',
        'runs|apply|row tws-… of team dev',
        'variables|read|permission read-workspaces of team readers',
        '|row tws-… of team dev',
        'state-versions|read|permission read-workspaces of team readers',
        ...['policy-mocks|none', 'workspace-locking|false', 'run-tasks|false'].flatMap((decision) => [
          `${decision}|permission read-workspaces of team readers`,
          '|row tws-… of team dev',
        ]),
      ],
    );
  });

  test('a team is explained by itself, oneself without a name', async () => {
    assert.match(
      await ada.done('access explain --team dev --workspace acme/main'),
      /^Who +team dev\n.*\nAccess +custom\n(.*\n)*state-versions +none +row tws-\S+ of team dev\n/,
    );
    assert.match(
      await ada.done('access explain --workspace acme/main'),
      /\nadmin +true +team owners, who own the organization\n/,
    );
    const token = (await ada.done('api-token create --organization acme')).trim();
    assert.match(
      await commandsOf(api(), token).done('access explain --workspace acme/main'),
      /\nadmin +true +the token of the organization, an owner\n/,
    );
  });

  test('a row that ends is told with its end', async () => {
    await ada.done('workspace create acme/brief');
    const end = '2100-01-01T00:00:00.000Z';
    await ada.done(`team-access add --workspace acme/brief --team dev --access read --expires-at ${end}`);
    const words = new RegExp(`row tws-\\w{16} of team dev, until ${end}\n`);
    assert.match(await ada.done('access explain --user ben --workspace acme/brief'), words);
    assert.match(await ada.done('access matrix acme'), words);
    await ada.done('workspace delete acme/brief');
  });

  test('who has no access is told so, and who may not ask that nothing is found', async () => {
    await ada.done('workspace create acme/closed');
    assert.equal(
      await ada.done('access explain --team dev --workspace acme/closed'),
      'Who        team dev\nWorkspace  acme/closed\nAccess     none\n',
    );
    assert.equal(
      await ben.refused('access explain --user ada --workspace acme/main'),
      'accord: access of user ada to workspace acme/main: not found, or you may not see it\n',
    );
    const { exitCode } = await ben.run('access explain --user ada --team dev --workspace acme/main');
    assert.equal(exitCode, 2);
  });

  test('the explanation is there for programs, as the API has it', async () => {
    const { attributes } = await ada.json<{ attributes: { access: string; explanation: { attribute: string }[] } }>(
      'access explain --user ben --workspace acme/main',
    );
    assert.equal(attributes.access, 'custom');
    assert.equal(attributes.explanation[0]?.attribute, 'runs');
  });

  test('the matrix shows each team on each workspace', async () => {
    const lines = (await ada.done('access matrix acme')).trimEnd().split('\n');
    assert.deepEqual(
      lines
        .map((line) => line.replaceAll(/ {2,}/g, '|').replace(/tws-\w{16}/, 'tws-…'))
        .filter((line) => !line.startsWith('closed')),
      [
        'WORKSPACE|TEAM|ACCESS|FROM',
        'main|owners|admin|team owners, who own the organization',
        'main|dev|custom|row tws-… of team dev',
        'main|readers|read|permission read-workspaces of team readers',
      ],
    );
  });

  test('a decision is explained where the plan has no teams, then with bare IDs', async () => {
    await ada.done('organization create small --email it@example.org');
    await ada.done('workspace create small/main');
    await commandsOf(api(), api().adminToken).run('organization update small --plan free');
    assert.match(
      await ada.done('access explain --workspace small/main'),
      /\nadmin +true +team team-\w{16}, who own the organization\n/,
    );
  });
});
