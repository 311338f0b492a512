/** The commands of team access, run as somebody against the API in the test's own process. */
import assert from 'node:assert/strict';
import type { Api } from '../process/api.ts';
import { accord, type Outcome, type RunOptions } from '../process/cli-harness.ts';

export interface Commands {
  /** Runs a command, given in words, as a shell would split them. */
  run(line: string, options?: RunOptions): Promise<Outcome>;
  /** Likewise, one that succeeds. @returns what it printed */
  done(line: string, options?: RunOptions): Promise<string>;
  /** One that succeeds with `--json`. */
  json<T>(line: string): Promise<T>;
  /** One that the server refuses. @returns what was said */
  refused(line: string, options?: RunOptions): Promise<string>;
}

/** @param token a user's, a team's or an organization's */
export function commandsOf(api: Api, token: string): Commands {
  const environment = { ACCORD_ADDRESS: api.address, ACCORD_API_TOKEN: token };
  const run: Commands['run'] = (line, options = {}) =>
    accord(line.split(' '), { ...options, environment: { ...environment, ...options.environment } });
  return {
    run,
    async done(line, options) {
      const { exitCode, stdout, stderr } = await run(line, options);
      assert.equal(exitCode, 0, `${line}: ${stderr}`);
      return stdout;
    },
    async json(line) {
      const { exitCode, stdout, stderr } = await run(`${line} --json`);
      assert.equal(exitCode, 0, `${line}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async refused(line, options) {
      const { exitCode, stdout, stderr } = await run(line, options);
      assert.deepEqual([exitCode, stdout], [1, ''], `${line}: ${stderr}`);
      return stderr;
    },
  };
}

/** Commands of a user whom the site administrator makes for it. */
export async function commandsOfNewUser(api: Api, username: string): Promise<Commands> {
  const admin = commandsOf(api, api.adminToken);
  const token = await admin.done(`user create ${username} --email ${username}@example.org`);
  return commandsOf(api, token.trim());
}
