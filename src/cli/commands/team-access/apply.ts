/**
 * `accord team-access apply`: brings workspaces to the team access that a file has for them.
 *
 * All differences are taken and shown before anything is changed. Then each workspace is changed by itself, whole or not
 * at all, and only while it is as it was when its difference was taken: what is done is what was shown.
 */
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { readNamed } from '../../input/read-all.ts';
import { print, printable } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { parseAccessFile, type WantedSet } from './access-file.ts';
import { type Api, type ApiOptions, connectApi } from './api.ts';
import { confirm, requireTerminal } from './confirm.ts';
import { countWords, describeDifferences, type SetMeta, type WorkspaceDifference } from './difference.ts';
import type { Leaf } from './leaf.ts';
import { ACCESS_FILE_BYTES_MAX } from './limits.ts';
import { type Announced, announceSet, carryOut, type Target } from './put-set.ts';
import { findWorkspace } from './references.ts';

interface ApplyOptions extends ApiOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const FILE_HELP = `
The file is YAML. Each workspace in it gets these teams and no others; workspaces that are not in it are left alone:

  workspaces:
    acme/billing:
      platform: write
      review:
        access: custom
        runs: plan
        expires-at: 2030-01-31T00:00:00Z
    acme/archive: {}

Every difference is shown before anything is changed. A workspace is changed whole or not at all, and only if nobody has
changed it since its difference was shown.`;

/** Adds the command. */
export function addApplyCommand(leaf: Leaf, shell: Shell): void {
  withApiConnection(
    leaf('apply <file>', 'brings workspaces to the team access that a file (- is a pipe) has for them')
      .option('--dry-run', 'only shows what would change')
      .option('--yes', 'does not ask before it changes anything'),
  )
    .addHelpText('after', FILE_HELP)
    .action((file: string, options: ApplyOptions) => apply(shell, file, options));
}

async function apply(shell: Shell, file: string, options: ApplyOptions): Promise<void> {
  const { dryRun = false, yes = false, json = false } = options;
  const asks = !dryRun && !yes;
  if (asks) requireAnswer(shell, file);
  const api = connectApi(shell, options);
  const { text } = await readNamed(shell, file, { what: 'the team access', bytesMax: ACCESS_FILE_BYTES_MAX });
  const wanted = parseAccessFile(file === '-' ? 'standard input' : file, text);
  const announced = await announceAll(api, await findAll(api, wanted));
  const differences = announced.map((one) => differenceOf(one, one));
  // With --json the result is what was done; what is asked about still has to be seen.
  if (!json || dryRun) print(shell, options, differences, describeDifferences);
  else if (asks) shell.stderr.write(describeDifferences(differences));

  const changing = announced.filter((one) => one.differences.length > 0);
  if (changing.length === 0) note(shell, 'Nothing to change.');
  if (dryRun) return;
  const question = `Apply to ${changing.length} of ${announced.length} workspaces: ${countWords(changing)}?`;
  if (changing.length > 0 && asks && !(await confirm(shell, question))) {
    throw new CommandError('refused', 'not applied: nothing was changed');
  }
  const done: WorkspaceDifference[] = [];
  try {
    for (const one of changing) {
      done.push(differenceOf(one, await carryOut(api, one)));
      note(shell, `Applied to ${printable(one.target.workspace)}.`);
    }
  } finally {
    if (json) print(shell, options, done, describeDifferences);
  }
}

function requireAnswer(shell: Shell, file: string): void {
  const instead = 'give --yes to apply without a question, or --dry-run to only see what would change';
  if (file === '-') throw new CommandError('usage', `standard input has the file, and no answer: ${instead}`);
  requireTerminal(shell, instead);
}

/** Each workspace once, whatever it was called. */
async function findAll(api: Api, wanted: readonly WantedSet[]): Promise<readonly Target[]> {
  const found = new Map<string, Target>();
  for (const set of wanted) {
    const { workspace, fullName } = await findWorkspace(api, set.workspace);
    const earlier = found.get(workspace.id);
    if (earlier !== undefined) {
      throw new CommandError('usage', `${set.at}: ${printable(fullName)} stands at ${earlier.wanted.at}, too`);
    }
    found.set(workspace.id, { id: workspace.id, workspace: fullName, wanted: set });
  }
  return [...found.values()];
}

async function announceAll(api: Api, targets: readonly Target[]): Promise<readonly Announced[]> {
  const announced: Announced[] = [];
  for (const target of targets) announced.push(await announceSet(api, target));
  return announced;
}

const differenceOf = (
  { target: { id, workspace } }: Announced,
  { counts, differences }: SetMeta,
): WorkspaceDifference => ({
  workspace,
  id,
  counts,
  differences,
});
