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

test('a file has the complete set of each workspace, with where everything stands', () => {
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

test('what is said once can stand for several workspaces', () => {
  const sets = parseAccessFile('f', 'workspaces:\n  a/b: &usual\n    dev: read\n  a/c: *usual\n');
  assert.deepEqual(
    sets.map(({ workspace, teams }) => [workspace, teams[0]?.team, teams[0]?.attributes]),
    [
      ['a/b', 'dev', { access: 'read' }],
      ['a/c', 'dev', { access: 'read' }],
    ],
  );
});

test('a team is called what is written, whatever YAML makes of it', () => {
  const [set] = parseAccessFile(
    'f',
    'workspaces:\n  a/b:\n    1e3: read\n    null: read\n    0x10: read\n    true: read\n',
  );
  assert.deepEqual(
    set?.teams.map(({ team }) => team),
    ['1e3', 'null', '0x10', 'true'],
  );
});

test('whatever is not as it must be is told with its line', () => {
  const below = (lines: string): string => `workspaces:\n  acme/main:\n${lines}`;
  const refused: readonly (readonly [content: string, message: RegExp])[] = [
    ['', /^f:1: want "workspaces:", and below it/],
    ['- a', /^f:1: want "workspaces:"/],
    ['workspaces: {}', /^f:1: no workspace is named/],
    ['workspace:\n  a/b: {}', /^f:1: "workspace" is unknown here: want workspaces$/],
    ['workspaces:\n  a/b: {}\nteams: {}', /^f:3: "teams" is unknown here/],
    ['workspaces:', /^f:1: want workspaces, such as acme\/billing/],
    ['workspaces:\n  main: {}', /^f:2: "main" names no workspace: want ORGANIZATION\/NAME/],
    ['workspaces:\n  a/b: {}\n  a/b: {}', /^f:3: this is not YAML: Map keys must be unique/],
    // Nothing below a workspace may be a slip: it must not take everybody's access away.
    ['workspaces:\n  a/b: {}\n  a/c:\n', /^f:3: want teams with their access, or \{\} for nobody$/],
    ['workspaces:\n  a/b: []', /^f:2: want teams with their access/],
    [below('    dev:'), /^f:3: want a level such as write, or access, runs,/],
    [below('    dev: [read]'), /^f:3: want a level/],
    [below('    dev: 7'), /^f:3: want a level/],
    [below('    acme/dev: read'), /^f:3: "acme\/dev" is no team: want its name alone, or its ID$/],
    [
      below('    dev:\n      access: custom\n      run: plan'),
      /^f:5: "run" is unknown here: want access, runs, variables,/,
    ],
    [below('    dev:\n      access: custom\n      runs: [plan]'), /^f:5: runs: want one value$/],
    [below('    dev:\n      "r\\e[2J": plan'), /^f:4: "r\\u001b\[2J" is unknown here/],
    [below('    ? [a]\n    : read'), /^f:2: want teams/],
    [below('    dev: *nothing'), /^f:3: there is no anchor &nothing before it$/],
    ['workspaces:\n\ta/b: {}', /^f:2: this is not YAML: Tabs are not allowed/],
    ['workspaces: {a/b: {}}\n---\nworkspaces: {}', /^f:\d: this is not YAML: .*multiple documents/],
  ];
  for (const [content, message] of refused) {
    assert.throws(() => parseAccessFile('f', content), { code: 'usage', message }, content);
  }
});
