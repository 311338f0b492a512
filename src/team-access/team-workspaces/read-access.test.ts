import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compile } from 'typebox/schema';
import { rowBody } from '../../../test/support/team-access/organizations.ts';
import { toOne } from '../../../test/support/team-access/team-access.ts';
import { changedTeamWorkspaceSchema, newTeamWorkspaceSchema } from './read-access.ts';

test('the schema of a new row requires the relationships team and workspace', () => {
  const schema = Compile(newTeamWorkspaceSchema(false));
  const whole = rowBody('team-1', 'ws-1', { access: 'read' });
  const withRelated = (relationships: unknown) => ({ data: { ...whole.data, relationships } });
  assert.ok(schema.Check(whole));
  const { team, workspace } = { team: toOne('teams', 'team-1'), workspace: toOne('workspaces', 'ws-1') };
  for (const relationships of [undefined, {}, { team }, { workspace }, { team: { data: null }, workspace }]) {
    assert.ok(!schema.Check(JSON.parse(JSON.stringify(withRelated(relationships)))), JSON.stringify(relationships));
  }
  assert.ok(Compile(changedTeamWorkspaceSchema(false)).Check({ data: { attributes: { access: 'read' } } }));
});
