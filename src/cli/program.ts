/** The command line: which commands there are, and how each way to end becomes an exit code. */
import { Command, CommanderError } from 'commander';
import { addTokenCommands } from './commands/acl/acl-token.ts';
import { addPartitionCommands } from './commands/acl/partition.ts';
import { addCatalogCommands } from './commands/catalog/catalog.ts';
import { addServiceCommands } from './commands/catalog/service.ts';
import { addConfigEntryCommands } from './commands/config-entry/config-entry.ts';
import { addIntentionCommands } from './commands/config-entry/intention.ts';
import { addAuditCommand } from './commands/operator/audit.ts';
import { addCaCommands } from './commands/operator/ca.ts';
import { addExportCommand } from './commands/operator/export.ts';
import { addLocalCommands } from './commands/operator/local.ts';
import { addStatusCommand } from './commands/operator/status.ts';
import { addPeeringCommands } from './commands/peering/peering.ts';
import { addTeamAccessCommands } from './commands/team-access/commands.ts';
import { CommandError, exitCodes } from './errors.ts';
import type { Shell } from './shell.ts';

/** What a shell reports for a program that SIGINT ended. */
const INTERRUPTED = 130;

const HELP = `
Every command has its own --help. Commands that ask a server find it, and a token, in this order:
  --address, --acl-token-file    on the command line
  ACCORD_ADDRESS, ACCORD_TOKEN   in the environment
  credentials.json               that the first start of a server left in ./accord-data (or --data-dir)
Those of team access (organization, team, workspace, team-access, access, user, api-token) have tokens of their own:
  --api-token-file, ACCORD_API_TOKEN, credentials.json

Results go to standard output, everything else to standard error.
Exit codes: 0 done, 1 the server refused (its words are shown), 2 wrong use, 3 not reachable, 4 not known to the server,
130 interrupted.
`;

/**
 * Runs one command.
 * @param args what stands behind `accord`
 * @returns the exit code: 0 done, 1 the server refused, 2 wrong use, 3 not reachable, 4 not known to the server,
 * 130 interrupted; `server` has its own
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
    // Commander has told what is wrong; asking for help is no mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    if (isInterruption(error)) return INTERRUPTED;
    if (!(error instanceof CommandError)) throw error;
    shell.stderr.write(`accord: ${error.message}\n`);
    return exitCodes[error.code];
  }
}

function buildProgram(shell: Shell, done: (exitCode: number) => void): Command {
  // Subcommands take these over when they are made, so they come first.
  const program = new Command('accord').exitOverride().configureOutput({
    writeOut: (text) => shell.stdout.write(text),
    writeErr: (text) => shell.stderr.write(text),
    outputError: (text, write) => write(oneLine(text)),
  });
  program
    .description('Cluster peering and team access from one server.')
    .version(shell.version, '-V, --version', 'shows the version of this program')
    .helpOption('-h, --help', 'shows this help')
    .helpCommand('help [command]', 'shows the help of a command')
    .addHelpText('after', HELP);
  addLocalCommands(program, shell, done);
  addStatusCommand(program, shell);
  addExportCommand(program, shell);
  addAuditCommand(program, shell);
  const acl = program.command('acl').description('access to /v1');
  addTokenCommands(acl, shell);
  addPartitionCommands(program, shell);
  addPeeringCommands(program, shell);
  addCatalogCommands(program, shell);
  addServiceCommands(program, shell);
  addConfigEntryCommands(program, shell);
  addIntentionCommands(program, shell);
  addCaCommands(program, shell);
  addTeamAccessCommands(program, shell);
  return program;
}

/** Commander's message as this program writes all of its own. */
const oneLine = (text: string): string =>
  `${text
    .replace(/^error: /, 'accord: ')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')}\n`;

/** An aborted wait or request; its own error or the cause of another. */
function isInterruption(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'AbortError' || isInterruption(error.cause);
}
