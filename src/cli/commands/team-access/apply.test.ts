import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';
import { type CliResult, runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';
import { type Commands, commandsOfNewUser } from '../../../../test/support/team-access/team-access-commands.ts';
import { until } from '../../../../test/support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-apply-'));
after(() => rmSync(folder, { recursive: true }));

let fileCount = 0;
function write(content: string): string {
  const path = join(folder, `access-${fileCount++}.yaml`);
  writeFileSync(path, content);
  return path;
}

/** Returns a stream that acts as a terminal. */
const terminal = () => Object.assign(new PassThrough(), { isTTY: true });

describe('accord team-access apply', () => {
  const api = sharedApi();
  let ada: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    await ada.expectSuccess('organization create acme --email it@example.org');
    for (const team of ['dev', 'ops', 'audit']) await ada.expectSuccess(`team create acme/${team}`);
  });

  /** Creates a workspace with write access for `ops` and read access for `audit`. */
  async function makeWorkspace(name: string): Promise<void> {
    await ada.expectSuccess(`workspace create acme/${name}`);
    await ada.expectSuccess(`team-access add --workspace acme/${name} --team ops --access write`);
    await ada.expectSuccess(`team-access add --workspace acme/${name} --team audit --access read`);
  }

  /** Returns the access to a workspace, such as `ops write, audit read`. */
  async function accessOf(workspace: string): Promise<string> {
    const lines = (await ada.expectSuccess(`team-access list --workspace acme/${workspace}`))
      .trimEnd()
      .split('\n')
      .slice(1);
    return lines.map((line) => line.split(/ +/).slice(1, 3).join(' ')).join(', ');
  }

  test('prints the changes and applies them with --yes', async () => {
    await makeWorkspace('one');
    await makeWorkspace('two');
    await ada.expectSuccess('workspace create acme/three');
    const file = write(`workspaces:
  acme/one:
    dev: { access: custom, runs: plan, expires-at: 2100-01-01T00:00:00Z }
    OPS: admin
  acme/two: {}
  acme/three: {}
`);
    const difference = `acme/one
  + dev: custom (runs plan, variables none, state-versions none, policy-mocks none, workspace-locking false, run-tasks false) until 2100-01-01T00:00:00.000Z
  ~ ops: write -> admin
  - audit: read
acme/two
  - ops: write
  - audit: read
acme/three: no changes
`;
    assert.deepEqual(await ada.run(`team-access apply ${file} --dry-run`), {
      exitCode: 0,
      stdout: difference,
      stderr: '',
    });
    assert.equal(await accessOf('one'), 'ops write, audit read');
    assert.deepEqual(await ada.run(`team-access apply ${file} --yes`), {
      exitCode: 0,
      stdout: difference,
      stderr: 'Applied to acme/one.\nApplied to acme/two.\n',
    });
    assert.deepEqual([await accessOf('one'), await accessOf('two')], ['ops admin, dev custom', '']);
    const again = await ada.run(`team-access apply ${file} --yes`);
    assert.deepEqual(
      [again.exitCode, again.stdout, again.stderr],
      [0, 'acme/one: no changes\nacme/two: no changes\nacme/three: no changes\n', 'Nothing to change.\n'],
    );
  });

  test('asks for confirmation on a terminal and applies only after yes', async () => {
    await makeWorkspace('confirmed');
    const file = write('workspaces: { acme/confirmed: { ops: write } }');
    for (const answer of ['n\n', '\n', 'yess\n', '']) {
      const stdin = terminal();
      stdin.end(answer);
      const { exitCode, stdout, stderr } = await ada.run(`team-access apply ${file}`, { stdin });
      assert.deepEqual([exitCode, stdout], [1, 'acme/confirmed\n  - audit: read\n']);
      assert.equal(
        stderr,
        `Apply to 1 of 1 workspaces: 1 removed? [y/N] ${answer === '' ? '\n' : ''}accord: canceled: nothing was changed\n`,
        JSON.stringify(answer),
      );
    }
    assert.equal(await accessOf('confirmed'), 'ops write, audit read');
    const stdin = terminal();
    stdin.end('y\n');
    assert.equal((await ada.run(`team-access apply ${file}`, { stdin })).exitCode, 0);
    assert.equal(await accessOf('confirmed'), 'ops write');
  });

  test('changes nothing if the prompt is interrupted', async () => {
    await makeWorkspace('interrupted');
    const file = write('workspaces: { acme/interrupted: {} }');
    const interruption = new AbortController();
    const stdin = terminal();
    const onOutput = (): void => interruption.abort();
    const { exitCode } = await ada.run(`team-access apply ${file}`, { stdin, interruption, onOutput });
    assert.equal(exitCode, 130);
    assert.equal(await accessOf('interrupted'), 'ops write, audit read');
  });

  /** Applies a file, runs `beforeConfirm` after the changes are printed, and then confirms. */
  async function applyAfter(file: string, beforeConfirm: () => Promise<unknown>): Promise<CliResult> {
    const stdin = terminal();
    let shown = '';
    const onOutput = (text: string): void => {
      shown += text;
    };
    const applying = ada.run(`team-access apply ${file}`, { stdin, onOutput });
    await until('the changes are printed', () => shown.startsWith('acme/'));
    await beforeConfirm();
    stdin.end('y\n');
    return await applying;
  }

  test('applies the plan to the printed teams even if they are renamed before the confirmation', async () => {
    await ada.expectSuccess('workspace create acme/renamed');
    for (const team of ['blue', 'green', 'gold', 'silver']) await ada.expectSuccess(`team create acme/${team}`);
    await ada.expectSuccess('team-access add --workspace acme/renamed --team gold --access write');
    const blue = (await ada.json<{ id: string }>('team show acme/blue')).id;
    const file = write(`workspaces:
  acme/renamed:
    GOLD: write
    blue: { access: custom, runs: plan, expires-at: 2100-01-01T00:00:00Z }
`);
    const { exitCode, stderr } = await applyAfter(file, async () => {
      for (const [old, stranger] of [
        ['blue', 'green'],
        ['gold', 'silver'],
      ]) {
        await ada.expectSuccess(`team update acme/${old} --name ${old}-before`);
        await ada.expectSuccess(`team update acme/${stranger} --name ${old}`);
      }
    });
    assert.equal(exitCode, 0, stderr);
    assert.equal(await accessOf('renamed'), 'gold-before write, blue-before custom');
    const row = await ada.json<{ attributes: Record<string, unknown> }>(
      `team-access show --workspace acme/renamed --team ${blue}`,
    );
    assert.deepEqual(row.attributes, {
      access: 'custom',
      runs: 'plan',
      variables: 'none',
      'state-versions': 'none',
      'policy-mocks': 'none',
      'workspace-locking': false,
      'run-tasks': false,
      'expires-at': '2100-01-01T00:00:00.000Z',
    });
  });

  test('reports the line of an error that occurs only while applying', async () => {
    await makeWorkspace('late');
    await ada.expectSuccess('team create acme/short');
    const { id } = await ada.json<{ id: string }>('team show acme/audit');
    const file = write(`workspaces:\n  acme/late:\n    short: read\n    ops: plan\n    ${id}: read\n`);
    const { exitCode, stderr } = await applyAfter(file, () => ada.expectSuccess('team delete acme/short --yes'));
    assert.equal(exitCode, 1);
    assert.ok(stderr.endsWith(`accord: ${file}:3: team short: not found, or you may not see it\n`), stderr);
    assert.equal(await accessOf('late'), 'ops write, audit read');
  });

  test('does not change a workspace that changed after it was planned', async () => {
    await makeWorkspace('first');
    await makeWorkspace('raced');
    await makeWorkspace('last');
    const file = write('workspaces: { acme/first: {}, acme/raced: {}, acme/last: {} }');
    const stdin = terminal();
    let shown = '';
    const onOutput = (text: string): void => {
      shown = text;
    };
    const applying = ada.run(`team-access apply ${file}`, { stdin, onOutput });
    await until('the changes are printed', () => shown.includes('acme/last\n'));
    await ada.expectSuccess('team-access update --workspace acme/raced --team ops --access admin');
    stdin.end('y\n');
    const { exitCode, stderr } = await applying;
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /\[y\/N\] Applied to acme\/first\.\naccord: workspace acme\/raced was changed concurrently and was not updated\n$/,
    );
    assert.deepEqual(
      [await accessOf('first'), await accessOf('raced'), await accessOf('last')],
      ['', 'ops admin, audit read', 'ops write, audit read'],
    );
  });

  test('reports the lines of all errors before the first change', async () => {
    await makeWorkspace('kept');
    await makeWorkspace('faulty');
    const rejected = async (below: string): Promise<string> => {
      const file = write(`workspaces:\n  acme/kept: {}\n  acme/faulty:\n${below}`);
      return (await ada.expectFailure(`team-access apply ${file} --yes`)).replaceAll(file, 'FILE');
    };
    assert.equal(
      await rejected('    nobody: read\n    ops: write\n'),
      'accord: FILE:4: team nobody: not found, or you may not see it\n',
    );
    assert.equal(
      await rejected('    dev: all\n    ops:\n      access: read\n      runs: plan\n'),
      "accord: FILE:4: team dev: Access is not included in the list\nFILE:7: team ops: Runs is read-only when access level is 'read'; use the 'custom' access level to set this attribute.\n",
    );
    assert.match(await rejected('    dev: {}\n'), /^accord: FILE:4: team dev: Access can't be blank\n$/);
    assert.match(await rejected('    dev: read\n    DEV: write\n'), /^accord: FILE:5: team DEV: /);
    assert.equal(await accessOf('kept'), 'ops write, audit read');
    const file = write('workspaces:\n  acme/kept: {}\n  acme/absent: {}\n');
    assert.equal(
      await ada.expectFailure(`team-access apply ${file} --yes`),
      'accord: workspace acme/absent: not found, or you may not see it\n',
    );
    assert.equal(await accessOf('kept'), 'ops write, audit read');
  });

  test('rejects a workspace that occurs by name and by ID', async () => {
    await makeWorkspace('twice');
    const { id } = await ada.json<{ id: string }>('workspace show acme/twice');
    const file = write(`workspaces:\n  acme/twice: {}\n  ${id}: {}\n`);
    const { exitCode, stderr } = await ada.run(`team-access apply ${file} --yes`);
    assert.deepEqual(
      [exitCode, stderr],
      [2, `accord: ${file}:3: duplicate workspace acme/twice, first at ${file}:2\n`],
    );
  });

  test('accepts team IDs and reads the file from standard input', async () => {
    await makeWorkspace('piped');
    const { id } = await ada.json<{ id: string }>('team show acme/dev');
    const stdin = `workspaces: { acme/piped: { ${id}: plan } }`;
    assert.equal((await ada.run('team-access apply - --yes', { stdin })).exitCode, 0);
    assert.equal(await accessOf('piped'), 'dev plan');
    const { exitCode, stderr } = await ada.run('team-access apply - --yes', { stdin: 'workspaces:\n  x: {}\n' });
    assert.equal(exitCode, 2);
    assert.match(stderr, /^accord: standard input:2: invalid workspace "x"/);
  });

  test('--json prints the planned or applied changes', async () => {
    await makeWorkspace('read');
    const file = write('workspaces: { acme/read: { ops: write } }');
    for (const way of ['--dry-run', '--yes']) {
      const [found, ...more] = await ada.json<Record<string, unknown>[]>(`team-access apply ${file} ${way}`);
      assert.deepEqual([found?.['workspace'], more], ['acme/read', []]);
      assert.deepEqual(found?.['counts'], { added: 0, updated: 0, removed: 1, unchanged: 1 });
    }
    assert.deepEqual(await ada.json(`team-access apply ${file} --yes`), []);
  });
});

test('without a terminal, --yes or --dry-run is required before any request', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({}));
  const file = write('workspaces: { acme/main: {} }');
  const { exitCode, stdout, stderr } = await runCli(['team-access', 'apply', file, '--address', address]);
  assert.deepEqual([exitCode, stdout], [2, '']);
  assert.equal(
    stderr,
    'accord: cannot ask for confirmation because standard input is not a terminal: give --yes to apply without confirmation, or --dry-run to print the changes\n',
  );
  const piped = await runCli(['team-access', 'apply', '-', '--address', address], { stdin: terminal() });
  assert.deepEqual(
    [piped.exitCode, piped.stderr.slice(0, 72)],
    [2, 'accord: cannot ask for confirmation because standard input is the file: '],
  );
  assert.equal(requests.length, 0);
});

test('an invalid file is a usage error before any request', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({}));
  const file = write('workspaces:\n  acme/main:\n    dev:\n      acess: read\n');
  const { exitCode, stderr } = await runCli(['team-access', 'apply', file, '--yes', '--address', address]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /:4: unknown key "acess": want access, runs, /);
  assert.equal((await runCli(['team-access', 'apply', '/no/such/file', '--yes', '--address', address])).exitCode, 2);
  assert.equal(requests.length, 0);
});

test('applies nothing if the dry run returns no ETag', async (t) => {
  const meta = { counts: { added: 0, updated: 0, removed: 0, unchanged: 0 }, differences: [] };
  const workspace = { id: 'ws-1', attributes: { name: 'main' }, relationships: {} };
  const { address, requests } = await startStubServer(t, ({ method }) => ({
    body: method === 'GET' ? { data: workspace } : { data: [], meta },
  }));
  const file = write('workspaces: { acme/main: {} }');
  const { exitCode, stderr } = await runCli(['team-access', 'apply', file, '--yes', '--address', address]);
  assert.deepEqual([exitCode, stderr], [1, 'accord: the response has no ETag header; a proxy may have removed it\n']);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['GET /api/v2/organizations/acme/workspaces/main', 'PUT /api/v2/workspaces/ws-1/team-access?dry-run=true'],
  );
});

test('reports an unknown outcome if the connection breaks while applying', async (t) => {
  const difference = { change: 'removed', team: { id: 'team-1', name: 'ops' }, before: null, after: null };
  const meta = { counts: { added: 0, updated: 0, removed: 1, unchanged: 0 }, differences: [difference] };
  const workspace = { id: 'ws-1', attributes: { name: 'main\u001b' }, relationships: {} };
  const { address } = await startStubServer(t, ({ method, path }) => {
    if (method === 'GET') return { body: { data: workspace } };
    if (path.endsWith('dry-run=true')) return { body: { data: [], meta }, headers: { etag: '"1"' } };
    return { headers: { 'content-length': '9' }, status: 200 };
  });
  const file = write('workspaces: { acme/main: {} }');
  const { exitCode, stderr } = await runCli(['team-access', 'apply', file, '--yes', '--address', address]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^accord: cannot reach .*; workspace \/main\\x1b may or may not have been changed\n$/);
});

describe('accord team-access with compat: terraform', () => {
  const api = sharedApi({ terraform: true });
  let ada: Commands;

  before(async () => {
    ada = await commandsOfNewUser(api(), 'ada');
    await ada.expectSuccess('organization create acme --email it@example.org');
    await ada.expectSuccess('team create acme/dev');
  });

  test('keeps, changes, and resets the two additional attributes from a file', async () => {
    await ada.expectSuccess('workspace create acme/one');
    const pair = '--workspace acme/one --team dev';
    const attributes = async () => (await ada.json<{ attributes: object }>(`team-access show ${pair}`)).attributes;
    const access = { access: 'custom', runs: 'read', variables: 'none', 'state-versions': 'none' };
    const rest = { 'workspace-locking': false, 'run-tasks': false };
    await ada.expectSuccess(`team-access add ${pair} --access custom --policy-overrides true --sentinel-mocks read`);
    const mocks = { 'policy-mocks': 'read', 'sentinel-mocks': 'read' };
    assert.deepEqual(await attributes(), { ...access, ...mocks, ...rest, 'policy-overrides': true });
    const row = (more: string): string =>
      write(`workspaces:
  acme/one:
    dev: { access: custom, sentinel-mocks: read${more} }
`);
    const same = await ada.run(`team-access apply ${row(', policy-overrides: true')} --yes`);
    assert.deepEqual([same.exitCode, same.stdout], [0, 'acme/one: no changes\n'], same.stderr);
    const shown = await ada.expectSuccess(`team-access apply ${row('')} --dry-run`);
    assert.match(shown, /policy-overrides true\) -> custom \(.*policy-overrides false\)/);
    await ada.expectSuccess(`team-access apply ${row(', policy-overrides: false')} --yes`);
    assert.deepEqual(await attributes(), { ...access, ...mocks, ...rest, 'policy-overrides': false });
    await ada.expectSuccess(`team-access update ${pair} --policy-overrides true`);
    assert.deepEqual(await attributes(), { ...access, ...mocks, ...rest, 'policy-overrides': true });
  });
});

test('without compat: terraform, apply rejects its attributes and add reports them', async () => {
  await using api = await startApi();
  const ada = await commandsOfNewUser(api, 'ada');
  await ada.expectSuccess('organization create acme --email it@example.org');
  await ada.expectSuccess('team create acme/dev');
  await ada.expectSuccess('workspace create acme/one');
  const file = write('workspaces:\n  acme/one:\n    dev:\n      access: custom\n      policy-overrides: true\n');
  const message = 'the server does not support policy-overrides, which requires compat: terraform';
  assert.equal(await ada.expectFailure(`team-access apply ${file} --yes`), `accord: ${file}:5: ${message}\n`);
  const added = await ada.run(
    'team-access add --workspace acme/one --team dev --access custom --policy-overrides true',
  );
  assert.deepEqual([added.exitCode, added.stderr], [0, `Not set: ${message}.\n`]);
});
