import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../test/support/process/cli-harness.ts';

/** Commands that destroy something. */
const COMMANDS = [
  ['organization', 'delete', 'acme'],
  ['team', 'delete', 'acme/dev'],
  ['workspace', 'delete', 'acme/main'],
  ['user', 'delete', 'ada'],
  ['api-token', 'revoke', 'at-1'],
  ['acl', 'token', 'delete', '1'],
  ['peering', 'delete', 'east'],
  ['ca', 'rotate'],
  ['ca', 'rotate', '--back'],
] as const;

const terminal = (answer: string): Readable => Object.assign(Readable.from([answer]), { isTTY: true });

for (const args of COMMANDS) {
  test(`${args.join(' ')} asks before it changes anything, or needs --yes [SRV-123]`, async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ status: 404, body: '' }));
    const run = (stdin: string | Readable, ...more: string[]) =>
      runCli([...args, '--address', address, ...more], { stdin });
    const silent = await run('yes\n');
    assert.equal(silent.exitCode, 2);
    assert.match(
      silent.stderr,
      /^accord: cannot ask for confirmation because standard input is not a terminal: give --yes/,
    );
    const declined = await run(terminal('n\n'));
    assert.equal(declined.exitCode, 1);
    assert.match(declined.stderr, /\? \[y\/N\] accord: nothing was changed\n$/);
    assert.equal(requests.length, 0);
    await run(terminal('y\n'));
    const confirmed = requests.length;
    assert.ok(confirmed > 0);
    await run('', '--yes');
    assert.ok(requests.length > confirmed);
  });
}
