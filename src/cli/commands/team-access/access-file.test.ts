import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAccessFile } from './access-file.ts';

const FILE = `# who has what
workspaces:
  acme/billing:
    platform: write
    review:
      access: custom
      runs: plan
      workspace-locking: true
      expires-at: 2030-01-31T00:00:00Z
  acme/archive: {}
`;

test('parses the complete set of each workspace with positions', () => {
  const [billing, archive, ...more] = parseAccessFile('access.yaml', FILE);
  assert.deepEqual(more, []);
  assert.deepEqual(archive, { workspace: 'acme/archive', at: 'access.yaml:10', teams: [] });
  assert.deepEqual(billing, {
    workspace: 'acme/billing',
    at: 'access.yaml:3',
    teams: [
      {
        team: 'platform',
        at: 'access.yaml:4',
        attributes: { access: 'write' },
        attributesAt: new Map([['access', 'access.yaml:4']]),
      },
      {
        team: 'review',
        at: 'access.yaml:5',
        attributes: {
          access: 'custom',
          runs: 'plan',
          'workspace-locking': true,
          'expires-at': '2030-01-31T00:00:00Z',
        },
        attributesAt: new Map([
          ['access', 'access.yaml:6'],
          ['runs', 'access.yaml:7'],
          ['workspace-locking', 'access.yaml:8'],
          ['expires-at', 'access.yaml:9'],
        ]),
      },
    ],
  });
});

test('resolves YAML aliases', () => {
  const sets = parseAccessFile('f', 'workspaces:\n  a/b: &usual\n    dev: read\n  a/c: *usual\n');
  assert.deepEqual(
    sets.map(({ workspace, teams }) => [workspace, teams[0]?.team, teams[0]?.attributes]),
    [
      ['a/b', 'dev', { access: 'read' }],
      ['a/c', 'dev', { access: 'read' }],
    ],
  );
});

test('uses the source text of keys that YAML reads as other types', () => {
  const [set] = parseAccessFile(
    'f',
    'workspaces:\n  a/b:\n    1e3: read\n    null: read\n    0x10: read\n    true: read\n',
  );
  assert.deepEqual(
    set?.teams.map(({ team }) => team),
    ['1e3', 'null', '0x10', 'true'],
  );
});

test('rejects invalid files and reports the line', () => {
  const below = (lines: string): string => `workspaces:\n  acme/main:\n${lines}`;
  const invalid: readonly (readonly [content: string, message: RegExp])[] = [
    ['', /^f:1: want "workspaces:", followed by/],
    ['- a', /^f:1: want "workspaces:"/],
    ['workspaces: {}', /^f:1: the file names no workspace/],
    ['workspace:\n  a/b: {}', /^f:1: unknown key "workspace": want workspaces$/],
    ['workspaces:\n  a/b: {}\nteams: {}', /^f:3: unknown key "teams"/],
    ['workspaces:', /^f:1: want workspaces, such as acme\/billing/],
    ['workspaces:\n  main: {}', /^f:2: invalid workspace "main": want ORGANIZATION\/NAME/],
    ['workspaces:\n  a/b: {}\n  a/b: {}', /^f:3: invalid YAML: Map keys must be unique/],
    // An empty value may be a mistake and must not remove all access.
    ['workspaces:\n  a/b: {}\n  a/c:\n', /^f:3: want teams with their access, or \{\} for no team$/],
    ['workspaces:\n  a/b: []', /^f:2: want teams with their access/],
    [below('    dev:'), /^f:3: want a level such as write, or access, runs,/],
    [below('    dev: [read]'), /^f:3: want a level/],
    [below('    dev: 7'), /^f:3: want a level/],
    [below('    acme/dev: read'), /^f:3: invalid team "acme\/dev": want a name without the organization, or an ID$/],
    [
      below('    dev:\n      access: custom\n      run: plan'),
      /^f:5: unknown key "run": want access, runs, variables,/,
    ],
    [below('    dev:\n      access: custom\n      runs: [plan]'), /^f:5: runs: want one value$/],
    [below('    dev:\n      "r\\e[2J": plan'), /^f:4: unknown key "r\\u001b\[2J"/],
    [below('    ? [a]\n    : read'), /^f:2: want teams/],
    [below('    dev: *nothing'), /^f:3: undefined anchor &nothing$/],
    ['workspaces:\n\ta/b: {}', /^f:2: invalid YAML: Tabs are not allowed/],
    ['workspaces: {a/b: {}}\n---\nworkspaces: {}', /^f:\d: invalid YAML: .*multiple documents/],
  ];
  for (const [content, message] of invalid) {
    assert.throws(() => parseAccessFile('f', content), { code: 'usage', message }, content);
  }
});
