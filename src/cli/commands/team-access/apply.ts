/**
 * `accord team-access apply`: replaces the team access of workspaces with the complete sets in a file.
 *
 * Plans and prints all changes first. Then applies each workspace atomically, and only if it has not changed since it
 * was planned, so that the applied changes are the printed ones.
 */

import { type ApiClient, type ApiOptions, connectApi } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findWorkspace } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { confirm, requireTerminal } from '../../input/confirm.ts';
import { readFileOrStdin } from '../../input/read-file.ts';
import { ACCESS_FILE_BYTES_MAX } from '../../limits.ts';
import { print, printable } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { type DesiredSet, parseAccessFile } from './access-file.ts';
import { describeCounts, describeDifferences, type SetMeta, type WorkspaceDifference } from './difference.ts';
import { applySet, type PlannedSet, planSet, type Target } from './put-complete-set.ts';

interface ApplyOptions extends ApiOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const FILE_HELP = `
The file is YAML. It lists all teams with access to each workspace. Workspaces that are not in the file are not changed.

  workspaces:
    acme/billing:
      platform: write
      review:
        access: custom
        runs: plan
        expires-at: 2030-01-31T00:00:00Z
    acme/archive: {}

All changes are printed before the first one is applied. A workspace is changed atomically, and only if it has not
changed since its changes were printed.

Example:
  accord team-access apply access.yaml --dry-run`;

export function addApplyCommand(subcommand: AddSubcommand, shell: Shell): void {
  withApiConnection(
    subcommand(
      'apply <file>',
      'Replace the team access of workspaces with the content of a file (- for standard input)',
    )
      .option('--dry-run', 'print the changes without applying them')
      .option('--yes', 'apply without confirmation'),
  )
    .addHelpText('after', FILE_HELP)
    .action((file: string, options: ApplyOptions) => apply(shell, file, options));
}

async function apply(shell: Shell, file: string, options: ApplyOptions): Promise<void> {
  const { dryRun = false, yes = false, json = false } = options;
  const needsConfirmation = !dryRun && !yes;
  if (needsConfirmation) requireConfirmable(shell, file);
  const api = connectApi(shell, options);
  const { text } = await readFileOrStdin(shell, file, { what: 'the team access', bytesMax: ACCESS_FILE_BYTES_MAX });
  const wanted = parseAccessFile(file === '-' ? 'standard input' : file, text);
  const planned = await planAll(api, await findAll(api, wanted));
  const differences = planned.map((one) => differenceOf(one, one));
  // With --json, standard output receives the applied changes, so the planned ones go to standard error.
  if (!json || dryRun) print(shell, options, differences, describeDifferences);
  else if (needsConfirmation) shell.stderr.write(describeDifferences(differences));

  const changed = planned.filter((one) => one.differences.length > 0);
  if (changed.length === 0) note(shell, 'Nothing to change.');
  if (dryRun) return;
  const question = `Apply to ${changed.length} of ${planned.length} workspaces: ${describeCounts(changed)}?`;
  if (changed.length > 0 && needsConfirmation && !(await confirm(shell, question))) {
    throw new CommandError('failed', 'canceled: nothing was changed');
  }
  const applied: WorkspaceDifference[] = [];
  try {
    for (const one of changed) {
      applied.push(differenceOf(one, await applySet(api, one)));
      note(shell, `Applied to ${printable(one.target.workspace)}.`);
    }
  } finally {
    if (json) print(shell, options, applied, describeDifferences);
  }
}

function requireConfirmable(shell: Shell, file: string): void {
  const alternative = 'give --yes to apply without confirmation, or --dry-run to print the changes';
  if (file === '-') {
    throw new CommandError('usage', `cannot ask for confirmation because standard input is the file: ${alternative}`);
  }
  requireTerminal(shell, alternative);
}

/** Finds all workspaces. Rejects a workspace that occurs twice, by name and by ID. */
async function findAll(api: ApiClient, wanted: readonly DesiredSet[]): Promise<readonly Target[]> {
  const found = new Map<string, Target>();
  for (const set of wanted) {
    const { workspace, fullName } = await findWorkspace(api, set.workspace);
    const earlier = found.get(workspace.id);
    if (earlier !== undefined) {
      throw new CommandError(
        'usage',
        `${set.at}: duplicate workspace ${printable(fullName)}, first at ${earlier.wanted.at}`,
      );
    }
    found.set(workspace.id, { id: workspace.id, workspace: fullName, wanted: set });
  }
  return [...found.values()];
}

async function planAll(api: ApiClient, targets: readonly Target[]): Promise<readonly PlannedSet[]> {
  const planned: PlannedSet[] = [];
  for (const target of targets) planned.push(await planSet(api, target));
  return planned;
}

const differenceOf = (
  { target: { id, workspace } }: PlannedSet,
  { counts, differences }: SetMeta,
): WorkspaceDifference => ({
  workspace,
  id,
  counts,
  differences,
});
