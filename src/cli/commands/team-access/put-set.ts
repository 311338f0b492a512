/** `PUT /workspaces/:id/team-access` for what a file wants: announced without a change, or carried out. */
import { parseJson } from '../../client/client.ts';
import { CommandError } from '../../errors.ts';
import { printable } from '../../output/output.ts';
import type { WantedSet, WantedTeam } from './access-file.ts';
import { type Api, type ApiCall, apiPath, bodyOf, relatedId } from './api.ts';
import type { SetMeta } from './difference.ts';
import { isId } from './references.ts';
import { type Fault, faultsIn } from './refusal.ts';
import { type Row, unknownAmong, unknownWords } from './row-attributes.ts';

const CHANGED = 'was changed by somebody else meanwhile: nothing was done there';

/** A workspace that was found, and what it should have. */
export interface Target {
  readonly id: string;
  /** `acme/billing` */
  readonly workspace: string;
  readonly wanted: WantedSet;
}

/** What would change. */
export interface Announced extends SetMeta {
  readonly target: Target;
  /** Names the set that the difference was taken against. */
  readonly etag: string;
  /** The rows that there would be, each with the ID of its team: another team may have its name by then. */
  readonly rows: readonly Row[];
}

/** A row of the set, as it is sent. */
interface Entry {
  /** A name or an ID. */
  readonly team: string;
  readonly body: unknown;
  /** Where it stands in the file. */
  readonly at: string;
  readonly attributesAt: ReadonlyMap<string, string>;
}

/** What answers a set. */
interface SetDocument {
  readonly data: readonly Row[];
  readonly meta: SetMeta;
}

/** What giving the workspace its set would change; changes nothing. @throws CommandError */
export async function announceSet(api: Api, target: Target): Promise<Announced> {
  const { text, etag } = await putSet(api, target, target.wanted.teams.map(wantedEntry), {
    query: { 'dry-run': 'true' },
  });
  // Without its name nothing could be carried out as it was shown.
  if (etag === undefined) throw new CommandError('refused', 'the answer has no ETag: is a proxy taking it away?');
  const { data, meta } = documentOf(api, text);
  refuseUnknown(target.wanted.teams, data);
  return { ...meta, target, etag, rows: data };
}

/** Does what was announced, and nothing else: a workspace that has changed since is left alone. @throws CommandError */
export async function carryOut(api: Api, announced: Announced): Promise<SetMeta> {
  const { target, etag } = announced;
  try {
    const { text } = await putSet(api, target, announcedEntries(announced), { headers: { 'if-match': etag } });
    return documentOf(api, text).meta;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'unreachable') throw error;
    const unknown = `whether workspace ${printable(target.workspace)} was changed is not known`;
    throw new CommandError(error.code, `${error.message}; ${unknown}`, { cause: error });
  }
}

/** What the server leaves aside would not come to be, and nobody would be told. @throws CommandError `refused` */
function refuseUnknown(wanted: readonly WantedTeam[], [row]: readonly Row[]): void {
  if (row === undefined) return;
  for (const { at, attributes, attributesAt } of wanted) {
    const unknown = unknownAmong(Object.keys(attributes), row.attributes);
    if (unknown === undefined) continue;
    throw new CommandError('refused', `${attributesAt.get(unknown) ?? at}: ${unknownWords(unknown)}`);
  }
}

const documentOf = (api: Api, text: string): SetDocument => parseJson(api, text) as SetDocument;

async function putSet(api: Api, target: Target, entries: readonly Entry[], guard: Pick<ApiCall, 'query' | 'headers'>) {
  const { id, workspace } = target;
  const path = apiPath('workspaces', id, 'team-access');
  const body = { data: entries.map((entry) => entry.body) };
  const call: ApiCall = { method: 'PUT', path, about: `workspace ${workspace}`, body, ...guard };
  const answer = await api.ask(call);
  if (answer.status < 300) return { text: answer.text, etag: answer.headers.etag };
  if (answer.status === 412) {
    throw new CommandError('refused', `${printable(call.about)} ${CHANGED}`);
  }
  const located = faultsIn(answer).map((fault) => locate(fault, entries));
  if (located.length === 0 || located.includes(undefined)) throw api.refusal(call, answer);
  throw new CommandError('refused', located.join('\n'));
}

/** A row as the file has it. */
function wantedEntry(wanted: WantedTeam): Entry {
  const { team, attributes } = wanted;
  if (isId('team', team)) return { ...wanted, body: rowOf(team, attributes) };
  return { ...wanted, body: { type: TEAM_WORKSPACES, attributes: { ...attributes, 'team-name': team } } };
}

/** The rows as they were shown, by the IDs of their teams. The file's words for one are found by its ID, or if it changes. */
function announcedEntries({ rows, differences, target: { wanted } }: Announced): readonly Entry[] {
  const names = new Map(differences.map(({ team }) => [team.id, team.name?.toLowerCase() ?? '']));
  const inFile = new Map(wanted.teams.map((one) => [isId('team', one.team) ? one.team : one.team.toLowerCase(), one]));
  return rows.map((row) => {
    const id = relatedId(row, 'team');
    const { access, 'expires-at': end } = row.attributes;
    const body = rowOf(id, access === 'custom' ? row.attributes : { access, 'expires-at': end });
    const words = inFile.get(id) ?? inFile.get(names.get(id) ?? '');
    return { team: id, at: wanted.at, attributesAt: new Map(), ...words, body };
  });
}

const TEAM_WORKSPACES = 'team-workspaces';

const rowOf = (teamId: string, attributes: Readonly<Record<string, unknown>>) =>
  bodyOf(TEAM_WORKSPACES, attributes, { team: { data: { type: 'teams', id: teamId } } }).data;

/** A fault with the line of the file that it is about; `undefined` where it is about none. */
function locate(fault: Fault, entries: readonly Entry[]): string | undefined {
  const [, index = '', attribute = ''] =
    /^\/data\/(\d+)(?:\/attributes\/([^/]+))?/.exec(fault.source?.pointer ?? '') ?? [];
  const entry = entries[Number.parseInt(index, 10)];
  if (entry === undefined) return undefined;
  const words = fault.title === 'not found' ? 'not found, or you may not see it' : (fault.detail ?? fault.title);
  return `${entry.attributesAt.get(attribute) ?? entry.at}: ${printable(`team ${entry.team}: ${words}`)}`;
}
