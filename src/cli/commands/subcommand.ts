/** Adds commands to a command group. */
import type { Command } from 'commander';

/** Adds a command to a group, with the options that all commands of the group share. */
export type AddSubcommand = (name: string, description: string) => Command;

/** Returns a function that adds commands with a `--json` option to a group. */
export const subcommandsOf =
  (group: Command): AddSubcommand =>
  (name, description) =>
    group.command(name).description(description).option('--json', 'print JSON instead of a table');

export const REFERENCE_HELP = '\nTeams and workspaces are given as ORGANIZATION/NAME, such as acme/dev, or as an ID.';
