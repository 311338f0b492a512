/** Runs commands of team access against the API in the test's process. */
import assert from 'node:assert/strict';
import type { Api } from '../process/api.ts';
import { type CliOptions, type CliResult, runCli } from '../process/cli-harness.ts';

export interface Commands {
  /** Runs a command line, split at blanks. */
  run(line: string, options?: CliOptions): Promise<CliResult>;
  /** Runs a command that must succeed. @returns its standard output */
  expectSuccess(line: string, options?: CliOptions): Promise<string>;
  /** Runs a command with `--json` that must succeed. @returns the parsed output */
  json<T>(line: string): Promise<T>;
  /** Runs a command that must fail with exit code 1. @returns its standard error */
  expectFailure(line: string, options?: CliOptions): Promise<string>;
}

/** @param token the token of a user, team or organization */
export function commandsOf(api: Api, token: string): Commands {
  const environment = { ACCORD_ADDRESS: api.address, ACCORD_API_TOKEN: token };
  const run: Commands['run'] = (line, options = {}) =>
    runCli(line.split(' '), { ...options, environment: { ...environment, ...options.environment } });
  return {
    run,
    async expectSuccess(line, options) {
      const { exitCode, stdout, stderr } = await run(line, options);
      assert.equal(exitCode, 0, `${line}: ${stderr}`);
      return stdout;
    },
    async json(line) {
      const { exitCode, stdout, stderr } = await run(`${line} --json`);
      assert.equal(exitCode, 0, `${line}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async expectFailure(line, options) {
      const { exitCode, stdout, stderr } = await run(line, options);
      assert.deepEqual([exitCode, stdout], [1, ''], `${line}: ${stderr}`);
      return stderr;
    },
  };
}

/** Creates a user as the site administrator, and returns the commands of that user. */
export async function commandsOfNewUser(api: Api, username: string): Promise<Commands> {
  const admin = commandsOf(api, api.adminToken);
  const token = await admin.expectSuccess(`user create ${username} --email ${username}@example.org`);
  return commandsOf(api, token.trim());
}
