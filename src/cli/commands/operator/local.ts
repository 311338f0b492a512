/** The commands that run in this process: `accord server`, `accord config`, and `accord version`. */
import type { Command } from 'commander';
import { readSecretFile } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print, table } from '../../output/output.ts';
import { type CommandLineSettings, note, type Shell } from '../../shell.ts';

interface ServerOptions {
  readonly importFile?: string;
  readonly importPassphraseFile?: string;
  readonly recover?: boolean;
}

/** @param setExitCode called with the exit code of the server when it stops */
export function addLocalCommands(program: Command, shell: Shell, setExitCode: (exitCode: number) => void): void {
  const server = withSettings(program.command('server').description('Run a server'), shell);
  server
    .optionsGroup('Options:')
    .option('--import-file <file>', 'import this export into the empty store before starting')
    .option('--import-passphrase-file <file>', 'file with the passphrase of the export')
    .option('--recover', 'create new first credentials, in case all tokens are lost')
    .action(async (options: ServerOptions) => {
      const { importFile, importPassphraseFile, recover = false } = options;
      const importPassphrase = importPassphraseFile === undefined ? undefined : readSecretFile(importPassphraseFile);
      if (importPassphrase !== undefined && importFile === undefined) {
        throw new CommandError('usage', '--import-passphrase-file requires --import-file');
      }
      setExitCode(await shell.local.serve({ ...settingsOf(server, shell), importFile, importPassphrase, recover }));
    });
  const config = withSettings(
    program.command('config').description('Show the effective settings and their origins'),
    shell,
  );
  config
    .optionsGroup('Options:')
    .option('--json', 'print JSON instead of a table')
    .action((options: { readonly json?: boolean }) => showSettings(shell, settingsOf(config, shell), options));
  program
    .command('version')
    .description('Print the version')
    .option('--json', 'print JSON instead of text')
    .action((options: { readonly json?: boolean }) =>
      print(shell, options, { version: shell.version }, ({ version }) => `accord ${version}\n`),
    );
}

/** Adds `--config` and a flag per setting. */
function withSettings(command: Command, { local }: Shell): Command {
  command.option('--config <file>', 'file with settings (default: ./accord.yaml, if it exists)');
  command.optionsGroup('Settings:');
  for (const { flag, description } of local.settingFlags) command.option(`${flag} <value>`, description);
  return command;
}

function settingsOf(command: Command, { local }: Shell): CommandLineSettings {
  const flags = new Map<string, string>();
  const values = command.opts<Record<string, string>>();
  for (const option of command.options) {
    const setting = local.settingFlags.find(({ flag }) => flag === option.long);
    const value = values[option.attributeName()];
    if (setting !== undefined && value !== undefined) flags.set(setting.key, value);
  }
  return { flags, configFile: values['config'] };
}

async function showSettings(
  shell: Shell,
  given: CommandLineSettings,
  options: { readonly json?: boolean },
): Promise<void> {
  const { settings, warnings } = await shell.local.effectiveSettings(given);
  const result = Object.fromEntries(settings.map(({ key, value, from }) => [key, { value, from }]));
  print(shell, options, result, () =>
    table(
      ['SETTING', 'VALUE', 'FROM'],
      settings.map(({ key, value, from }) => [key, value, from]),
    ),
  );
  note(shell, ...warnings.map((warning) => `accord: warning: ${warning}`));
}
