/** The command-line program: registers all commands and converts every outcome to an exit code. */
import { Command, CommanderError } from 'commander';
import { addAccessCommands } from './commands/access/access.ts';
import { addTokenCommands } from './commands/acl/acl-token.ts';
import { addPartitionCommands } from './commands/acl/partition.ts';
import { addApiTokenCommands } from './commands/api-token/api-token.ts';
import { addCatalogCommands } from './commands/catalog/catalog.ts';
import { addConfigEntryCommands } from './commands/config-entry/config-entry.ts';
import { addIntentionCommands } from './commands/config-entry/intention.ts';
import { addAuditCommand } from './commands/operator/audit.ts';
import { addCaCommands } from './commands/operator/ca.ts';
import { addExportCommand } from './commands/operator/export.ts';
import { addLocalCommands } from './commands/operator/local.ts';
import { addStatusCommand } from './commands/operator/status.ts';
import { addOrganizationCommands } from './commands/organization/organization.ts';
import { addPeeringCommands } from './commands/peering/peering.ts';
import { addServiceCommands } from './commands/service/service.ts';
import { addTeamCommands } from './commands/team/team.ts';
import { addTeamAccessCommands } from './commands/team-access/team-access.ts';
import { addUserCommands } from './commands/user/user.ts';
import { addWorkspaceCommands } from './commands/workspace/workspace.ts';
import { CommandError, exitCodes } from './errors.ts';
import type { Shell } from './shell.ts';

/** The exit code that shells report for a program ended by SIGINT. */
const INTERRUPTED = 130;

const HELP = `
Run "accord COMMAND --help" for the options of a command.

Commands that call a server look for its address and a token in this order:
  --address, --acl-token-file    options
  ACCORD_ADDRESS, ACCORD_TOKEN   environment variables
  credentials.json               written to ./accord-data (or --data-dir) by the first start of a server
The commands of team access (organization, team, workspace, team-access, access, user, api-token) use API tokens:
  --api-token-file, ACCORD_API_TOKEN, credentials.json

Results are written to standard output, everything else to standard error.
Exit codes: 0 success, 1 failed or rejected by the server, 2 usage error, 3 server unreachable, 4 the server
cannot determine the result, 130 interrupted.
`;

/**
 * Runs one command.
 * @param args the arguments after `accord`
 * @returns the exit code: 0, one of `exitCodes`, or 130 after an interruption; `server` returns its own
 */
export async function runCommand(args: readonly string[], shell: Shell): Promise<number> {
  let exitCode = 0;
  const program = buildProgram(shell, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed the message. Help and version have exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    if (isInterruption(error)) return INTERRUPTED;
    if (!(error instanceof CommandError)) throw error;
    shell.stderr.write(`accord: ${error.message}\n`);
    return exitCodes[error.code];
  }
}

function buildProgram(shell: Shell, setExitCode: (exitCode: number) => void): Command {
  // Subcommands copy these settings when they are added, so this comes first.
  const program = new Command('accord').exitOverride().configureOutput({
    writeOut: (text) => shell.stdout.write(text),
    writeErr: (text) => shell.stderr.write(text),
    outputError: (text, write) => write(oneLine(text)),
  });
  program
    .description('Cluster peering and team access from one server.')
    .version(shell.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'Print the help of a command')
    .addHelpText('after', HELP);
  addLocalCommands(program, shell, setExitCode);
  addStatusCommand(program, shell);
  addExportCommand(program, shell);
  addAuditCommand(program, shell);
  const acl = program.command('acl').description('Manage access to /v1');
  addTokenCommands(acl, shell);
  addPartitionCommands(program, shell);
  addPeeringCommands(program, shell);
  addCatalogCommands(program, shell);
  addServiceCommands(program, shell);
  addConfigEntryCommands(program, shell);
  addIntentionCommands(program, shell);
  addCaCommands(program, shell);
  addOrganizationCommands(program, shell);
  addTeamCommands(program, shell);
  addWorkspaceCommands(program, shell);
  addTeamAccessCommands(program, shell);
  addAccessCommands(program, shell);
  addUserCommands(program, shell);
  addApiTokenCommands(program, shell);
  return program;
}

/** Formats a message of Commander like the program's own: one line with the prefix `accord: `. */
const oneLine = (text: string): string =>
  `${text
    .replace(/^error: /, 'accord: ')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')}\n`;

/** Whether the error, or one of its causes, is an aborted wait or request. */
function isInterruption(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'AbortError' || isInterruption(error.cause);
}
