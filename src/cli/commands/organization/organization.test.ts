import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { runCli } from '../../../../test/support/process/cli-harness.ts';
import { commandsOf, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';

describe('accord organization with invitations', () => {
  const api = sharedApi({ invitations: 'accept' });

  test('lists, accepts, and declines invitations, and leaves organizations', async () => {
    const boss = await commandsOfNewUser(api(), 'boss');
    const ben = await commandsOfNewUser(api(), 'ben');
    for (const name of ['one', 'two']) await boss.expectSuccess(`organization create ${name} --email it@example.org`);
    const added = await boss.expectSuccess('organization add-member one ben@example.org --team owners');
    assert.match(added, /\nuser-\w{16} +ben@example\.org +invited +ou-\w{16}\n$/);
    await boss.expectSuccess('organization add-member two ben@example.org');
    assert.match(
      await ben.expectSuccess('organization list-invitations'),
      /^ORGANIZATION +AS OWNER +EMAIL +ID\none +yes +ben@example\.org +ou-\w{16}\ntwo +ben@example\.org +ou-\w{16}\n$/,
    );
    assert.deepEqual(await ben.json('organization list'), []);
    assert.match(await ben.expectFailure('organization leave two'), /you are not a member of organization two/);
    assert.equal((await ben.run('organization decline TWO')).stderr, 'Declined the invitation to organization TWO.\n');
    assert.match(await ben.expectFailure('organization accept two'), /you have no invitation to organization two/);
    assert.equal((await ben.run('organization accept one')).stderr, 'Joined organization one as an owner.\n');
    assert.match(await boss.expectSuccess('organization list-members one'), /\nben +ben@example\.org +active /);
    await boss.expectSuccess('organization add-member two ben@example.org');
    assert.equal((await ben.run('organization accept two')).stderr, 'Joined organization two.\n');
    await boss.expectSuccess('api-token create --organization two');
    await boss.expectSuccess('organization update two --user-tokens false');
    assert.equal((await ben.run('organization leave two')).stderr, 'Left organization two.\n');
    const removed = await boss.run('organization remove-member one ben@example.org');
    assert.equal(removed.stderr, 'Removed ben from organization one and its teams.\n');
    await boss.expectSuccess('organization add-member one ben@example.org');
    assert.equal((await boss.run('organization remove-member one ben@example.org')).exitCode, 0);
    assert.deepEqual(await ben.json('organization list-invitations'), []);
  });
});

describe('accord organization', () => {
  const api = sharedApi();

  test('creates, shows, updates, and deletes an organization', async () => {
    const ada = await commandsOfNewUser(api(), 'ada');
    assert.match(
      await ada.expectSuccess('organization create acme --email it@example.org'),
      /^Name +acme\nID +org-\w{16}\nEmail +it@example\.org\nPlan +standard\nCreated +20\S+Z\n$/,
    );
    assert.match(
      await ada.expectSuccess('organization list'),
      /^NAME +PLAN +EMAIL +ID\nacme +standard +it@example\.org +org-\w{16}\n$/,
    );
    assert.match(
      await ada.expectSuccess('organization update acme --name acme2 --email new@example.org'),
      /^Name +acme2\n/,
    );
    assert.equal((await ada.json<{ id: string }>('organization show acme2')).id, 'acme2');
    assert.equal(
      await ada.expectFailure('organization show acme'),
      'accord: organization acme: not found, or you may not see it\n',
    );
    const removed = await ada.run('organization delete acme2 --yes');
    assert.deepEqual([removed.exitCode, removed.stdout, removed.stderr], [0, '', 'Deleted organization acme2.\n']);
    assert.deepEqual(await ada.json('organization list'), []);
  });

  test("prints the server's errors with their locations", async () => {
    const owner = await commandsOfNewUser(api(), 'owner');
    assert.match(
      await owner.expectFailure('organization create a/b --email nobody'),
      /^accord: invalid attribute: Name is invalid.* \(\/data\/attributes\/name\)\ninvalid attribute: Email is invalid: want an address such as name@example\.org \(\/data\/attributes\/email\)\n$/,
    );
  });

  test('lets site administrators change the plan', async () => {
    const eve = await commandsOfNewUser(api(), 'eve');
    await eve.expectSuccess('organization create planned --email it@example.org');
    const admin = commandsOf(api(), api().adminToken);
    assert.equal((await admin.run('organization update planned --plan free')).exitCode, 0);
    assert.match(await eve.expectSuccess('organization show planned'), /\nPlan +free\n/);
  });

  test('refuses and accepts the tokens of users', async () => {
    const tom = await commandsOfNewUser(api(), 'tom');
    await tom.expectSuccess('organization create toms --email it@example.org');
    assert.match(await tom.expectFailure('organization update toms --user-tokens no'), /want true or false/);
    const refused = await tom.expectFailure('organization update toms --user-tokens false');
    assert.match(refused, /create such a token first/);
    await tom.expectSuccess('api-token create --organization toms');
    assert.match(await tom.expectSuccess('organization update toms --user-tokens false'), /\nUser tokens +refused\n/);
    assert.match(await tom.expectFailure('organization show toms'), /does not accept the tokens of users/);
    const admin = commandsOf(api(), api().adminToken);
    assert.doesNotMatch(await admin.expectSuccess('organization update toms --user-tokens true'), /User tokens/);
    await tom.expectSuccess('organization show toms');
  });

  test('adds members by email address with teams and removes them by name', async () => {
    const boss = await commandsOfNewUser(api(), 'boss');
    await commandsOfNewUser(api(), 'ben');
    await boss.expectSuccess('organization create staffed --email it@example.org');
    await boss.expectSuccess('team create staffed/dev');
    assert.match(
      await boss.expectSuccess('organization add-member staffed ben@example.org --team dev --team staffed/owners'),
      /^USERNAME +EMAIL +STATUS +ID\nben +ben@example\.org +invited +ou-\w{16}\n$/,
    );
    assert.match(await boss.expectSuccess('team show staffed/dev'), /\nMembers +ben\n/);
    assert.match(
      await boss.expectSuccess('organization list-members staffed'),
      /\nboss +boss@example\.org +active +ou-\S+\nben /,
    );
    const gone = await boss.run('organization remove-member staffed BEN@example.org');
    assert.deepEqual([gone.exitCode, gone.stderr], [0, 'Removed ben from organization staffed and its teams.\n']);
    assert.equal(
      await boss.expectFailure('organization remove-member staffed ben'),
      'accord: ben in organization staffed: not found, or you may not see it\n',
    );
    assert.match(
      await boss.expectFailure('organization remove-member staffed boss'),
      /^accord: forbidden: the last owner/,
    );
  });

  test('update without a property is a usage error', async () => {
    const { exitCode, stderr } = await runCli(['organization', 'update', 'acme']);
    assert.deepEqual(
      [exitCode, stderr],
      [2, 'accord: nothing to change: give --name, --email, --plan or --user-tokens\n'],
    );
  });

  test('is left by its last owner to a member or to the site administrators, who take it over', async () => {
    const admin = commandsOf(api(), api().adminToken);
    const fay = await commandsOfNewUser(api(), 'fay');
    await commandsOfNewUser(api(), 'gus');
    await fay.expectSuccess('organization create fays --email f@example.org');
    await fay.expectSuccess('organization add-member fays gus@example.org');
    assert.match(await fay.expectFailure('organization leave fays'), /the last owner of the organization 'fays'/);
    assert.equal((await fay.run('organization leave fays --transfer-to gus')).stderr, 'Left organization fays.\n');
    await fay.expectSuccess('organization create fays-too --email f@example.org');
    await fay.expectSuccess('organization leave fays-too --to-site-administrators');
    assert.match(await admin.expectFailure('organization show fays-too'), /not found/);
    assert.match(await admin.expectSuccess('organization show fays-too --all'), /^Name +fays-too\n/);
    assert.match(await admin.expectSuccess('organization list --all'), /\nfays-too /);
    await admin.expectSuccess('organization take-ownership fays-too');
    assert.match(await admin.expectSuccess('organization show fays-too'), /^Name +fays-too\n/);
    assert.match(await fay.expectFailure('organization list --all'), /not found/);
  });
});
