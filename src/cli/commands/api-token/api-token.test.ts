import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import {
  type Commands,
  commandsOf,
  commandsOfNewUser,
} from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord api-token', () => {
  const api = sharedApi();
  let ada: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    await ada.expectSuccess('organization create acme --email it@example.org');
    await ada.expectSuccess('team create acme/dev');
  });

  /** Returns the username of the account that a token belongs to. */
  const actsAs = async (token: string): Promise<string> =>
    (await commandsOf(api(), token.trim()).json<{ attributes: { username: string } }>('user self')).attributes.username;

  test("creates, lists, and revokes the caller's tokens", async () => {
    const { stdout, stderr } = await ada.run('api-token create --description laptop --expires-at 2100-01-01T00:00:00Z');
    assert.match(stdout, /^\S+\.atlasv1\.\S+\n$/);
    const id = /^Created token (at-\w{16})\. It is not shown again\.\n$/.exec(stderr)?.[1] ?? '';
    assert.equal(await actsAs(stdout), 'ada');
    const list = await ada.expectSuccess('api-token list');
    assert.match(list, new RegExp(`\n${id} +you +20\\S+Z +\\S+ +2100-01-01T00:00:00\\.000Z +laptop\n$`));
    assert.ok(!list.includes(stdout.trim()));
    assert.equal((await ada.run(`api-token revoke ${id} --yes`)).stderr, `Revoked token ${id}.\n`);
    assert.match(
      await commandsOf(api(), stdout.trim()).expectFailure('user self'),
      /^accord: unauthorized \(the token from/,
    );
    assert.equal(
      await ada.expectFailure(`api-token revoke ${id} --yes`),
      `accord: token ${id}: not found, or you may not change it\n`,
    );
  });

  test('replaces the team token without a description only with --replace [DOC-57]', async () => {
    const first = await ada.expectSuccess('api-token create --team acme/dev');
    assert.equal(await actsAs(first), 'api-team_dev');
    assert.equal(
      await ada.expectFailure('api-token create --team acme/dev'),
      'accord: a token of team acme/dev already exists: give --replace to revoke it first\n',
    );
    assert.equal(await actsAs(first), 'api-team_dev');
    const second = await ada.expectSuccess('api-token create --team acme/dev --replace');
    assert.match(await commandsOf(api(), first.trim()).expectFailure('user self'), /unauthorized/);
    const third = await ada.expectSuccess('api-token create --team acme/dev --description ci');
    assert.deepEqual([await actsAs(second), await actsAs(third)], ['api-team_dev', 'api-team_dev']);
    assert.match(
      await ada.expectSuccess('api-token list --team acme/dev'),
      /^ID .*\nat-\S+ +team dev +.*\nat-\S+ +team dev +.* ci\n$/,
    );
  });

  test("lists an organization's token and those of its teams [DOC-57]", async () => {
    await ada.expectSuccess('organization create other --email it@example.org');
    await ada.expectSuccess('team create other/ops');
    const token = await ada.expectSuccess('api-token create --organization other');
    await ada.expectSuccess('api-token create --team other/ops');
    assert.equal(await actsAs(token), 'api-org_other');
    assert.match(
      await ada.expectSuccess('api-token list --organization other'),
      /^ID .*\nat-\S+ +the organization .*\nat-\S+ +team ops .*\n$/,
    );
    assert.equal(
      await ada.expectFailure('api-token create --organization other'),
      'accord: a token of organization other already exists: give --replace to revoke it first\n',
    );
    const { exitCode, stderr } = await commandsOf(api(), token.trim()).run('api-token list');
    assert.equal(exitCode, 2);
    assert.match(stderr, /^accord: the token does not belong to a user: give --team or --organization\n$/);
  });

  test('rejects --team together with --organization', async () => {
    for (const verb of ['list', 'create']) {
      const { exitCode, stderr } = await ada.run(`api-token ${verb} --team acme/dev --organization acme`);
      assert.deepEqual([exitCode, stderr], [2, 'accord: give --team or --organization, not both\n']);
    }
  });
});
