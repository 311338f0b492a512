/** Reads the body of a complete set and checks its shape. No check here depends on stored data. */
import { ServiceError } from '../../../http/errors.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import { TEAM_WORKSPACES } from '../../documents/team-workspace-to-json.ts';
import {
  checkAll,
  type ErrorObject,
  JsonApiError,
  type PointerMapping,
  throwErrors,
  withErrorsAt,
} from '../../jsonapi/errors.ts';
import {
  attributeValue,
  bodyError,
  parseResource,
  type RawAttributes,
  type ResourceSpec,
  readMemberInSlices,
} from '../../jsonapi/read-resource.ts';
import { BULK_ITEMS_MAX } from '../../limits.ts';

export interface SetRow {
  readonly team: { readonly id: string } | { readonly name: string };
  readonly attributes: RawAttributes;
  /** Maps pointers within the row to pointers into the body. */
  readonly place: PointerMapping;
  readonly teamPointer: string;
}

const SET_ROW: ResourceSpec = {
  type: TEAM_WORKSPACES,
  relationships: [
    { name: 'team', type: 'teams' },
    { name: 'workspace', type: 'workspaces' },
  ],
};

/**
 * Reads all rows and reports all errors.
 * @throws JsonApiError `invalid-body`, `invalid-attribute`; ServiceError `too-large` over `BULK_ITEMS_MAX` [TEAM-85]
 */
export function* readCompleteSet(body: Buffer, workspaceId: string): Steps<readonly SetRow[]> {
  const data = yield* readMemberInSlices(body, 'data');
  if (!Array.isArray(data)) throw new JsonApiError([bodyError('/data', 'want an array')]);
  if (data.length > BULK_ITEMS_MAX) {
    throw new ServiceError('too-large', `The set has ${data.length} rows, want at most ${BULK_ITEMS_MAX}`);
  }
  return yield* checkAll(data, (entry: unknown, position) => {
    // `readRow` reports pointers as if the row were the only resource of the document.
    const place: PointerMapping = (pointer = '/data') => pointer.replace('/data', `/data/${position}`);
    return withErrorsAt(place, () => readRow(entry, workspaceId, place));
  });
}

function readRow(entry: unknown, workspaceId: string, place: PointerMapping): SetRow {
  const { attributes, relationships } = parseResource(entry, SET_ROW);
  const errors: ErrorObject[] = [];
  const workspace = relationships.get('workspace') ?? workspaceId;
  if (workspace !== workspaceId) errors.push(relationshipError('workspace', 'Workspace must be that of the path'));
  const id = relationships.get('team');
  const name = attributeValue(attributes, 'team-name');
  if (id === undefined && name === undefined) errors.push(relationshipError('team', 'Team must exist'));
  if (id !== undefined && name !== undefined)
    errors.push(relationshipError('team', 'Team must be named once: by ID or by name'));
  if (name !== undefined && typeof name !== 'string') {
    errors.push(bodyError('/data/attributes/team-name', 'team-name must be a string'));
  }
  throwErrors(errors);
  if (id !== undefined) return { team: { id }, attributes, place, teamPointer: place('/data/relationships/team') };
  return { team: { name: String(name) }, attributes, place, teamPointer: place('/data/attributes/team-name') };
}

const relationshipError = (name: string, detail: string): ErrorObject => ({
  code: 'invalid-attribute',
  detail,
  pointer: `/data/relationships/${name}`,
});
