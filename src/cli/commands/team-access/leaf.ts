/** Commands of a group, with the options that all of them have. */
import type { Command } from 'commander';

/** Makes a command of a group. */
export type Leaf = (name: string, description: string) => Command;

/** Those that show something. */
export const leafOf =
  (group: Command): Leaf =>
  (name, description) =>
    group.command(name).description(description).option('--json', 'JSON instead of a table');

/** Option texts that several groups share. */
export const REFERENCE_HELP = '\nA team and a workspace are named ORGANIZATION/NAME, such as acme/dev, or by ID.';
