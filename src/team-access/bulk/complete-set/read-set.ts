/** Reads the set of rows that a workspace should have: the shape of the document, before anything is looked up. */
import { ServiceError } from '../../../http/errors.ts';
import { TEAM_WORKSPACES } from '../../documents/team-workspace-to-json.ts';
import { type Fault, JsonApiError, throwFaults } from '../../jsonapi/errors.ts';
import { checkEach, type Place, within } from '../../jsonapi/faults-within.ts';
import { type Given, given } from '../../jsonapi/read-attributes.ts';
import { readMember, resourceIn, type WantedResource, wrong } from '../../jsonapi/read-resource.ts';
import { SET_ROWS_MAX } from '../../limits.ts';

/** A row that should be. */
export interface WantedRow {
  /** Exactly one of them is there. */
  readonly team: { readonly id: string } | { readonly name: string };
  readonly attributes: Given;
  /** Where its faults stand. */
  readonly place: Place;
  /** Where it names its team. */
  readonly teamPointer: string;
}

const WANTED: WantedResource = {
  type: TEAM_WORKSPACES,
  relationships: [
    { name: 'team', type: 'teams' },
    { name: 'workspace', type: 'workspaces' },
  ],
};

/** @throws JsonApiError `invalid-body`, `invalid-attribute`; ServiceError `too-large` */
export function readSet(body: Uint8Array, workspaceId: string): readonly WantedRow[] {
  const data = readMember(body, 'data');
  if (!Array.isArray(data)) throw new JsonApiError([wrong('/data', 'want an array')]);
  if (data.length > SET_ROWS_MAX) {
    throw new ServiceError('too-large', `The set has ${data.length} rows, want at most ${SET_ROWS_MAX}`);
  }
  return checkEach(data, (entry: unknown, position) => {
    // A row's own pointers are those of a document that has it alone.
    const place: Place = (pointer = '/data') => pointer.replace('/data', `/data/${position}`);
    return within(place, () => readRow(entry, workspaceId, place));
  });
}

function readRow(entry: unknown, workspaceId: string, place: Place): WantedRow {
  const { attributes, relationships } = resourceIn(entry, WANTED);
  const faults: Fault[] = [];
  const workspace = relationships.get('workspace') ?? workspaceId;
  if (workspace !== workspaceId) faults.push(misnamed('workspace', 'Workspace must be that of the path'));
  const id = relationships.get('team');
  const name = given(attributes, 'team-name');
  if (id === undefined && name === undefined) faults.push(misnamed('team', 'Team must exist'));
  if (id !== undefined && name !== undefined)
    faults.push(misnamed('team', 'Team must be given once: by id, or by name'));
  if (name !== undefined && typeof name !== 'string') {
    faults.push(wrong('/data/attributes/team-name', 'team-name must be a string'));
  }
  throwFaults(faults);
  if (id !== undefined) return { team: { id }, attributes, place, teamPointer: place('/data/relationships/team') };
  return { team: { name: String(name) }, attributes, place, teamPointer: place('/data/attributes/team-name') };
}

const misnamed = (name: string, detail: string): Fault => ({
  code: 'invalid-attribute',
  detail,
  pointer: `/data/relationships/${name}`,
});
