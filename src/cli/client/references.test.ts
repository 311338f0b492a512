import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQualifiedName, parseReference, workspacePath } from './references.ts';

const ID = 'team-0123456789abcdEF';

test('parseReference accepts ORGANIZATION/NAME and an ID', () => {
  assert.deepEqual(parseReference('team', 'acme/dev'), { organization: 'acme', name: 'dev' });
  assert.deepEqual(parseReference('team', ID), { id: ID });
});

test('parseReference treats an ID after an organization as a name', () => {
  assert.deepEqual(parseReference('team', `acme/${ID}`), { organization: 'acme', name: ID });
});

test('parseReference and parseQualifiedName reject other forms', () => {
  for (const text of ['', 'dev', 'acme/', '/dev', 'acme/dev/x', 'ws-0123456789abcdEF', `${ID}x`]) {
    assert.throws(() => parseReference('team', text), {
      code: 'usage',
      message: `invalid team ${JSON.stringify(text)}: want ORGANIZATION/NAME, or an ID such as team-…`,
    });
  }
  assert.throws(() => parseQualifiedName('workspace', 'ws-0123456789abcdEF'), { message: /want ORGANIZATION\/NAME$/ });
});

test('workspacePath accepts a name or an ID and rejects dot segments', () => {
  assert.equal(workspacePath('acme/main'), '/organizations/acme/workspaces/main');
  assert.equal(workspacePath('ws-0123456789abcdEF'), '/workspaces/ws-0123456789abcdEF');
  for (const text of ['acme/..', '../main', './main'])
    assert.throws(() => workspacePath(text), { code: 'usage' }, text);
});
