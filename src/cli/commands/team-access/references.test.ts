import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNamed, parseReference, workspacePath } from './references.ts';

const ID = 'team-0123456789abcdEF';

test('a team is named by its organization and its name, or by its ID', () => {
  assert.deepEqual(parseReference('team', 'acme/dev'), { organization: 'acme', name: 'dev' });
  assert.deepEqual(parseReference('team', ID), { id: ID });
});

test('a name that looks like an ID is a name behind its organization', () => {
  assert.deepEqual(parseReference('team', `acme/${ID}`), { organization: 'acme', name: ID });
});

test('anything else names nothing, and says what is wanted', () => {
  for (const text of ['', 'dev', 'acme/', '/dev', 'acme/dev/x', 'ws-0123456789abcdEF', `${ID}x`]) {
    assert.throws(() => parseReference('team', text), {
      code: 'usage',
      message: `${JSON.stringify(text)} names no team: want ORGANIZATION/NAME, or an ID such as team-…`,
    });
  }
  assert.throws(() => parseNamed('workspace', 'ws-0123456789abcdEF'), { message: /want ORGANIZATION\/NAME$/ });
});

test('a workspace is found below its organization, or by its ID; no name leads elsewhere', () => {
  assert.equal(workspacePath('acme/main'), '/organizations/acme/workspaces/main');
  assert.equal(workspacePath('ws-0123456789abcdEF'), '/workspaces/ws-0123456789abcdEF');
  for (const text of ['acme/..', '../main', './main'])
    assert.throws(() => workspacePath(text), { code: 'usage' }, text);
});
