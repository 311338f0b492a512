/** Creates credentials during a start: the first ones, or new ones after all were lost. */
import { aclTokens } from '../credentials/acl-token.ts';
import { credentialsPath } from '../credentials/credentials-file.ts';
import {
  completeRecovery,
  createFirstCredentials,
  type FirstStartOptions,
  recoverCredentials,
} from '../credentials/first-credentials.ts';
import type { Log } from '../http/telemetry/log.ts';

/** Creates the first credentials of an empty state; new ones with `recover` or after an import without an ACL token. */
export async function makeCredentials(
  start: FirstStartOptions,
  { recover, imported }: { readonly recover: boolean; readonly imported: boolean },
  log: Log,
): Promise<void> {
  const { state, directory } = start;
  const file = credentialsPath(directory);
  if (await completeRecovery(start)) log.warn({ file }, 'new credentials created');
  if (await createFirstCredentials(start)) {
    log.info({ file }, 'first credentials created');
    announce(start.address, file);
    return;
  }
  const isLockedOut = state.snapshot.all(aclTokens, { limit: 1 }).length === 0;
  if (isLockedOut && !recover && !imported) {
    log.warn({ remedy: 'start with --recover to create new credentials' }, 'no ACL token exists');
  }
  if (!recover && !(isLockedOut && imported)) return;
  const aside = await recoverCredentials(start);
  log.warn({ file, ...(aside === undefined ? {} : { aside }) }, 'new credentials created');
}

/** Prints the address, the file, and two requests to try. Never prints a secret. */
function announce(address: string, file: string): void {
  const secret = (path: string): string => `$(node -p 'JSON.parse(require("fs").readFileSync("${file}")).${path}')`;
  process.stdout.write(
    `Accord is at ${address}\nIts first credentials are in ${file}\nTry:\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/acl/token/self\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/partitions\n`,
  );
}
