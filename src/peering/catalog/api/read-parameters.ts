/** What requests for services leave out, and where they look. */
import { Type } from 'typebox';
import type { Call } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { checkPeerName } from '../../record/peer-name.ts';
import { FAILOVER_PEERS_MAX } from '../limits.ts';

export const PEER: Parameter = {
  name: 'peer',
  description: 'Looks into what came from this peer, and not here.',
  schema: Type.String(),
};
export const TAG: Parameter = {
  name: 'tag',
  description: 'Only instances with this tag, whatever its case; given several times, with all of them.',
  schema: Type.String(),
};
export const PASSING: Parameter = {
  name: 'passing',
  description: 'Only instances of which every check passes; passing=false is as without.',
  schema: Type.String(),
  flag: true,
};
export const FAILOVER: Parameter = {
  name: 'failover',
  description:
    'Peers, separated by commas: while no instance here passes every check, the first of them where one does answers. X-Service-Answered-By says who did.',
  schema: Type.String(),
};

/** Who answered a request with `failover`. */
export const ANSWERED_BY: Parameter = {
  name: 'X-Service-Answered-By',
  description: 'With failover: local, or the name of the peer whose instances these are.',
  schema: Type.String(),
};

/** Which instances are wanted. */
export interface WantedInstances {
  /** As it was given; undefined: those of this cluster. */
  readonly peer: string | undefined;
  /** In lower case. */
  readonly tags: readonly string[];
  readonly passing: boolean;
  /** Undefined: none was asked for. */
  readonly failover: readonly string[] | undefined;
}

const ANY: WantedInstances = { peer: undefined, tags: [], passing: false, failover: undefined };

/** Empty parameters count as absent. @throws ServiceError `bad-request` */
export function readWanted({ query, request }: Call): WantedInstances {
  if (query.size === 0) return ANY;
  const peer = readPeer({ query });
  const failover = readFailover(query.get(FAILOVER.name) ?? '');
  if (peer !== undefined && failover !== undefined) {
    throw new ServiceError('bad-request', 'Cannot specify ?peer with ?failover, conflicting semantics.');
  }
  const tags = query.has(TAG.name) ? allOf(request.url ?? '', TAG.name) : [];
  return { peer, tags, passing: readPassing(query.get(PASSING.name)), failover };
}

/** The peer that is asked about. @throws ServiceError `bad-request` */
export function readPeer({ query }: Pick<Call, 'query'>): string | undefined {
  const peer = query.get(PEER.name) ?? '';
  if (peer === '') return undefined;
  checkPeerName(peer);
  return peer;
}

/** Refuses a change that is meant for what came from a peer. @throws ServiceError `bad-request` */
export function refusePeer({ query }: Pick<Call, 'query'>): void {
  const peer = query.get(PEER.name) ?? '';
  if (peer !== '') throw ofPeer(peer);
}

/** The refusal of a change of what came from a peer. */
export const ofPeer = (peer: string): ServiceError =>
  new ServiceError(
    'bad-request',
    `what came from peer ${JSON.stringify(peer.slice(0, QUOTED_LENGTH_MAX))} cannot be changed here: it is what that cluster exports`,
  );

function readFailover(text: string): readonly string[] | undefined {
  if (text === '') return undefined;
  const peers = text.split(',').map((peer) => peer.trim());
  if (peers.length > FAILOVER_PEERS_MAX) {
    throw new ServiceError('bad-request', `${peers.length} peers in failover, want at most ${FAILOVER_PEERS_MAX}`);
  }
  if (peers.includes('')) {
    const quoted = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
    throw new ServiceError('bad-request', `a name in ?failover=${quoted} is empty: want peers, separated by commas`);
  }
  for (const peer of peers) checkPeerName(peer);
  return peers;
}

function readPassing(text: string | undefined): boolean {
  if (text === undefined) return false;
  const value = text.toLowerCase();
  if (value === '' || value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false') return false;
  throw new ServiceError('bad-request', `Invalid value for ?passing "${text}": want true or false`);
}

/** Every value of a parameter that can be given several times; the query has the first alone. */
function allOf(url: string, name: string): string[] {
  const values = new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll(name);
  return values.filter((value) => value !== '').map((value) => value.toLowerCase());
}
