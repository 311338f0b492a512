/** Checks a peer's version of Accord [STREAM-11]. A peer without a version runs other software and is not checked. */

/** The first version that implements the protocol. */
const OLDEST_PEER_VERSION = '1.13.0';

/** Returns why a peer of this version is refused, if it is. @param theirs the version that the peer reports, if any */
export function peerVersionProblem(theirs: string | null | undefined, ours: string): string | undefined {
  if (theirs === null || theirs === undefined) return undefined;
  if (!isOlder(theirs, OLDEST_PEER_VERSION)) return undefined;
  return `the peer runs Accord ${theirs.slice(0, 64)}, this cluster ${ours}: want at least ${OLDEST_PEER_VERSION} on both sides`;
}

const VERSION_PATTERN = /^v?(\d+)\.(\d+)\.(\d+)/;

/** Whether `version` is older than `than`. A malformed version counts as older. */
function isOlder(version: string, than: string): boolean {
  const left = parseVersion(version);
  const right = parseVersion(than);
  if (left === undefined || right === undefined) return true;
  for (const [i, number] of right.entries()) {
    const other = left[i] ?? 0;
    if (other !== number) return other < number;
  }
  return false;
}

const parseVersion = (version: string): number[] | undefined => VERSION_PATTERN.exec(version)?.slice(1).map(Number);
