import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord } from '../../../../test/support/process/cli-harness.ts';

const GROUPS = {
  organization: ['list', 'show', 'create', 'update', 'delete', 'list-members', 'add-member', 'remove-member'],
  team: ['list', 'show', 'create', 'update', 'delete', 'add-member', 'remove-member'],
  workspace: ['list', 'show', 'create', 'update', 'delete'],
  'team-access': ['list', 'show', 'add', 'update', 'remove', 'apply'],
  access: ['explain', 'matrix'],
  user: ['list', 'create', 'delete', 'self'],
  'api-token': ['list', 'create', 'revoke'],
};

test('every group has its commands, and each of them help that says how it finds a server and a token', async () => {
  for (const [group, commands] of Object.entries(GROUPS)) {
    const { stdout: overview } = await accord([group, '--help']);
    const listed = [...overview.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name]) => name);
    assert.deepEqual(listed, commands, overview);
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await accord([group, command, '--help']);
      assert.deepEqual([exitCode, stderr], [0, ''], `${group} ${command}`);
      for (const word of ['--address', '--api-token-file', 'ACCORD_API_TOKEN', '--ca-file', '--data-dir']) {
        assert.ok(stdout.includes(word), `${group} ${command}: ${word}`);
      }
    }
  }
});

test('a group without a command is wrong use', async () => {
  for (const group of Object.keys(GROUPS)) assert.equal((await accord([group])).exitCode, 2, group);
});
