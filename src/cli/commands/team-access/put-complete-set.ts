/** Plans and applies complete sets with `PUT /workspaces/:id/team-access`. Planning is a dry run. */

import { type ApiClient, type ApiRequest, apiPath, relatedId, requestBody } from '../../client/api-client.ts';
import { type ApiError, parseApiErrors } from '../../client/api-error.ts';
import { parseJson } from '../../client/client.ts';
import { isId } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { printable } from '../../output/output.ts';
import type { DesiredSet, DesiredTeam } from './access-file.ts';
import type { SetMeta } from './difference.ts';
import { firstIgnored, ignoredMessage, type Row } from './row-attributes.ts';

export interface Target {
  readonly id: string;
  /** `acme/billing` */
  readonly workspace: string;
  readonly wanted: DesiredSet;
}

export interface PlannedSet extends SetMeta {
  readonly target: Target;
  /** The ETag of the set that the differences are based on. */
  readonly etag: string;
  /** The resulting rows with the IDs of their teams, because teams may be renamed before the plan is applied. */
  readonly rows: readonly Row[];
}

/** A row of the request. */
interface SetEntry {
  /** A name or an ID. */
  readonly team: string;
  readonly body: unknown;
  /** The position in the file. */
  readonly at: string;
  readonly attributesAt: ReadonlyMap<string, string>;
}

interface SetDocument {
  readonly data: readonly Row[];
  readonly meta: SetMeta;
}

/** Plans the changes with a dry run. @throws CommandError */
export async function planSet(api: ApiClient, target: Target): Promise<PlannedSet> {
  const { text, etag } = await putSet(api, target, target.wanted.teams.map(desiredEntry), {
    query: { 'dry-run': 'true' },
  });
  // Without the ETag, the request that applies the plan could overwrite concurrent changes.
  if (etag === undefined)
    throw new CommandError('failed', 'the response has no ETag header; a proxy may have removed it');
  const { data, meta } = documentOf(api, text);
  rejectIgnored(target.wanted.teams, data);
  return { ...meta, target, etag, rows: data };
}

/** Applies a plan, unless the workspace changed after it was planned. @throws CommandError */
export async function applySet(api: ApiClient, planned: PlannedSet): Promise<SetMeta> {
  const { target, etag } = planned;
  try {
    const { text } = await putSet(api, target, plannedEntries(planned), { headers: { 'if-match': etag } });
    return documentOf(api, text).meta;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'unreachable') throw error;
    const outcome = `workspace ${printable(target.workspace)} may or may not have been changed`;
    throw new CommandError(error.code, `${error.message}; ${outcome}`, { cause: error });
  }
}

/** Rejects attributes that the server ignores. @throws CommandError `failed` */
function rejectIgnored(wanted: readonly DesiredTeam[], [row]: readonly Row[]): void {
  if (row === undefined) return;
  for (const { at, attributes, attributesAt } of wanted) {
    const ignored = firstIgnored(Object.keys(attributes), row.attributes);
    if (ignored === undefined) continue;
    throw new CommandError('failed', `${attributesAt.get(ignored) ?? at}: ${ignoredMessage(ignored)}`);
  }
}

const documentOf = (api: ApiClient, text: string): SetDocument => parseJson(api, text) as SetDocument;

async function putSet(
  api: ApiClient,
  target: Target,
  entries: readonly SetEntry[],
  guard: Pick<ApiRequest, 'query' | 'headers'>,
) {
  const { id, workspace } = target;
  const path = apiPath('workspaces', id, 'team-access');
  const body = { data: entries.map((entry) => entry.body) };
  const call: ApiRequest = { method: 'PUT', path, subject: `workspace ${workspace}`, body, ...guard };
  const response = await api.request(call);
  if (response.status < 300) return { text: response.text, etag: response.headers.etag };
  if (response.status === 412) {
    throw new CommandError('failed', `${printable(call.subject)} was changed concurrently and was not updated`);
  }
  const located = parseApiErrors(response).map((error) => locateError(error, entries));
  if (located.length === 0 || located.includes(undefined)) throw api.errorOf(call, response);
  throw new CommandError('failed', located.join('\n'));
}

function desiredEntry(wanted: DesiredTeam): SetEntry {
  const { team, attributes } = wanted;
  if (isId('team', team)) return { ...wanted, body: rowOf(team, attributes) };
  return { ...wanted, body: { type: TEAM_WORKSPACES, attributes: { ...attributes, 'team-name': team } } };
}

/** Returns the planned rows by team ID, with their positions in the file where the file names the team. */
function plannedEntries({ rows, differences, target: { wanted } }: PlannedSet): readonly SetEntry[] {
  const names = new Map(differences.map(({ team }) => [team.id, team.name?.toLowerCase() ?? '']));
  const inFile = new Map(wanted.teams.map((one) => [isId('team', one.team) ? one.team : one.team.toLowerCase(), one]));
  return rows.map((row) => {
    const id = relatedId(row, 'team');
    const { access, 'expires-at': end } = row.attributes;
    const body = rowOf(id, access === 'custom' ? row.attributes : { access, 'expires-at': end });
    const source = inFile.get(id) ?? inFile.get(names.get(id) ?? '');
    return { team: id, at: wanted.at, attributesAt: new Map(), ...source, body };
  });
}

const TEAM_WORKSPACES = 'team-workspaces';

const rowOf = (teamId: string, attributes: Readonly<Record<string, unknown>>) =>
  requestBody(TEAM_WORKSPACES, attributes, { team: { data: { type: 'teams', id: teamId } } }).data;

/** Formats an error with its line in the file; `undefined` if the error has no position in the request. */
function locateError(error: ApiError, entries: readonly SetEntry[]): string | undefined {
  const [, index = '', attribute = ''] =
    /^\/data\/(\d+)(?:\/attributes\/([^/]+))?/.exec(error.source?.pointer ?? '') ?? [];
  const entry = entries[Number.parseInt(index, 10)];
  if (entry === undefined) return undefined;
  const message = error.title === 'not found' ? 'not found, or you may not see it' : (error.detail ?? error.title);
  return `${entry.attributesAt.get(attribute) ?? entry.at}: ${printable(`team ${entry.team}: ${message}`)}`;
}
