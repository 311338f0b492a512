/** Which versions of Accord may peer. A peer that states none is no Accord, and the protocol alone decides. */

/** The first one that speaks the protocol. */
const OLDEST_PEER_VERSION = '1.13.0';

/** Why a peer of this version is refused; undefined: it is not. @param theirs what it says; null: nothing */
export function peerVersionProblem(theirs: string | null | undefined, ours: string): string | undefined {
  if (theirs === null || theirs === undefined) return undefined;
  if (!isOlder(theirs, OLDEST_PEER_VERSION)) return undefined;
  return `the peer runs Accord ${theirs.slice(0, 64)}, this cluster ${ours}: want at least ${OLDEST_PEER_VERSION} on both sides`;
}

const VERSION = /^v?(\d+)\.(\d+)\.(\d+)/;

/** What is no version counts as older: nothing can be said for it. */
function isOlder(version: string, than: string): boolean {
  const given = numbers(version);
  const bound = numbers(than);
  if (given === undefined || bound === undefined) return true;
  for (const [i, limit] of bound.entries()) {
    const part = given[i] ?? 0;
    if (part !== limit) return part < limit;
  }
  return false;
}

const numbers = (version: string): number[] | undefined => VERSION.exec(version)?.slice(1).map(Number);
