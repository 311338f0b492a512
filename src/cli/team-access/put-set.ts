/** `PUT /workspaces/:id/team-access` for what a file wants: announced without a change, or carried out. */
import { parseJson } from '../client.ts';
import { CommandError } from '../errors.ts';
import { printable } from '../output.ts';
import type { WantedSet, WantedTeam } from './access-file.ts';
import { type Api, type ApiCall, apiPath } from './api.ts';
import type { SetMeta } from './difference.ts';
import { isId } from './references.ts';
import { type Fault, faultsIn } from './refusal.ts';

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
}

/** What giving the workspace its set would change; changes nothing. @throws CommandError */
export async function announceSet(api: Api, target: Target): Promise<Announced> {
  const { text, etag } = await putSet(api, target, { query: { 'dry-run': 'true' } });
  // Without its name nothing could be carried out as it was shown.
  if (etag === undefined) throw new CommandError('refused', 'the answer has no ETag: is a proxy taking it away?');
  return { ...metaOf(api, text), target, etag };
}

/** Does what was announced, and nothing else: a workspace that has changed since is left alone. @throws CommandError */
export async function carryOut(api: Api, { target, etag }: Announced): Promise<SetMeta> {
  try {
    const { text } = await putSet(api, target, { headers: { 'if-match': etag } });
    return metaOf(api, text);
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'unreachable') throw error;
    const unknown = `whether workspace ${printable(target.workspace)} was changed is not known`;
    throw new CommandError(error.code, `${error.message}; ${unknown}`, { cause: error });
  }
}

const metaOf = (api: Api, text: string): SetMeta => (parseJson(api, text) as { readonly meta: SetMeta }).meta;

async function putSet(api: Api, target: Target, guard: Pick<ApiCall, 'query' | 'headers'>) {
  const { id, workspace, wanted } = target;
  const path = apiPath('workspaces', id, 'team-access');
  const body = { data: wanted.teams.map(entryOf) };
  const call: ApiCall = { method: 'PUT', path, about: `workspace ${workspace}`, body, ...guard };
  const answer = await api.ask(call);
  if (answer.status < 300) return { text: answer.text, etag: answer.headers.etag };
  if (answer.status === 412) {
    throw new CommandError('refused', `${printable(call.about)} ${CHANGED}`);
  }
  const located = faultsIn(answer).map((fault) => locate(fault, wanted));
  if (located.length === 0 || located.includes(undefined)) throw api.refusal(call, answer);
  throw new CommandError('refused', located.join('\n'));
}

function entryOf({ team, attributes }: WantedTeam) {
  const type = 'team-workspaces';
  if (!isId('team', team)) return { type, attributes: { ...attributes, 'team-name': team } };
  return { type, attributes, relationships: { team: { data: { type: 'teams', id: team } } } };
}

/** A fault with the line of the file that it is about; `undefined` where it is about none. */
function locate(fault: Fault, { teams }: WantedSet): string | undefined {
  const [, index = '', attribute = ''] =
    /^\/data\/(\d+)(?:\/attributes\/([^/]+))?/.exec(fault.source?.pointer ?? '') ?? [];
  const wanted = teams[Number.parseInt(index, 10)];
  if (wanted === undefined) return undefined;
  const words = fault.title === 'not found' ? 'not found, or you may not see it' : (fault.detail ?? fault.title);
  return `${wanted.attributesAt.get(attribute) ?? wanted.at}: ${printable(`team ${wanted.team}: ${words}`)}`;
}
