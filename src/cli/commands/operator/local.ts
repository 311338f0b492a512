/** The commands that run here and ask no server: `accord server`, `accord config`, `accord version`. */
import type { Command } from 'commander';
import { readLine } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print, table } from '../../output/output.ts';
import { type GivenSettings, note, type Shell } from '../../shell.ts';

interface ServerOptions {
  readonly importFile?: string;
  readonly importPassphraseFile?: string;
  readonly recover?: boolean;
}

/** Adds the commands. @param done takes the exit code of a server that has ended */
export function addLocalCommands(program: Command, shell: Shell, done: (exitCode: number) => void): void {
  const server = withSettings(program.command('server').description('runs a server'), shell);
  server
    .optionsGroup('Options:')
    .option('--import-file <file>', 'starts on an empty store with what this export holds')
    .option('--import-passphrase-file <file>', 'file with the passphrase that the export was made with')
    .option('--recover', 'makes new first credentials, for when all tokens are lost')
    .action(async (options: ServerOptions) => {
      const { importFile, importPassphraseFile, recover = false } = options;
      const importPassphrase = importPassphraseFile === undefined ? undefined : readLine(importPassphraseFile);
      if (importPassphrase !== undefined && importFile === undefined) {
        throw new CommandError('usage', '--import-passphrase-file needs --import-file beside it');
      }
      done(await shell.local.serve({ ...givenSettings(server, shell), importFile, importPassphrase, recover }));
    });
  const config = withSettings(
    program.command('config').description('shows the settings in force, and from where'),
    shell,
  );
  config
    .optionsGroup('Options:')
    .option('--json', 'JSON instead of a table')
    .action((options: { readonly json?: boolean }) => showSettings(shell, givenSettings(config, shell), options));
  program
    .command('version')
    .description('shows the version of this program')
    .option('--json', 'JSON instead of text')
    .action((options: { readonly json?: boolean }) =>
      print(shell, options, { version: shell.version }, ({ version }) => `accord ${version}\n`),
    );
}

/** Adds `--config` and a flag for each setting. */
function withSettings(command: Command, { local }: Shell): Command {
  command.option('--config <file>', 'file with settings (default ./accord.yaml, if it is there)');
  command.optionsGroup('Settings:');
  for (const { flag, meaning } of local.settingFlags) command.option(`${flag} <value>`, meaning);
  return command;
}

/** The settings that stand on the command line of `command`. */
function givenSettings(command: Command, { local }: Shell): GivenSettings {
  const flags = new Map<string, string>();
  const values = command.opts<Record<string, string>>();
  for (const option of command.options) {
    const setting = local.settingFlags.find(({ flag }) => flag === option.long);
    const value = values[option.attributeName()];
    if (setting !== undefined && value !== undefined) flags.set(setting.key, value);
  }
  return { flags, configFile: values['config'] };
}

async function showSettings(shell: Shell, given: GivenSettings, options: { readonly json?: boolean }): Promise<void> {
  const { settings, warnings } = await shell.local.settingsInForce(given);
  const result = Object.fromEntries(settings.map(({ key, value, from }) => [key, { value, from }]));
  print(shell, options, result, () =>
    table(
      ['SETTING', 'VALUE', 'FROM'],
      settings.map(({ key, value, from }) => [key, value, from]),
    ),
  );
  note(shell, ...warnings.map((warning) => `accord: warning: ${warning}`));
}
