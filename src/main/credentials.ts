/** The credentials that a start makes: the first ones, or new ones where nobody has any left. */
import { aclTokens } from '../credentials/acl-token.ts';
import { credentialsPath } from '../credentials/credentials-file.ts';
import { type FirstStart, makeFirstCredentials, recoverCredentials } from '../credentials/first-credentials.ts';
import type { Log } from '../http/telemetry/log.ts';

/** First credentials for an empty state; with `--recover`, or after an import (`imported`) without any, new ones. */
export async function makeCredentials(
  start: FirstStart,
  { recover, imported }: { readonly recover: boolean; readonly imported: boolean },
  log: Log,
): Promise<void> {
  const { state, directory } = start;
  const file = credentialsPath(directory);
  if (await makeFirstCredentials(start)) {
    log.info({ file }, 'made the first credentials');
    announce(start.address, file);
    return;
  }
  const nobody = state.snapshot.all(aclTokens, { limit: 1 }).length === 0;
  if (nobody && !recover && !imported) log.warn('no ACL token is left: start with --recover to make new credentials');
  if (!recover && !(nobody && imported)) return;
  const aside = await recoverCredentials(start);
  log.warn({ file, ...(aside === undefined ? {} : { aside }) }, 'made new credentials beside the old ones');
}

/** What a first user sees: where it is, and two requests to try. Never a secret. */
function announce(address: string, file: string): void {
  const secret = (path: string): string => `$(node -p 'JSON.parse(require("fs").readFileSync("${file}")).${path}')`;
  process.stdout.write(
    `Accord is at ${address}\nIts first credentials are in ${file}\nTry:\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/acl/token/self\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/partitions\n`,
  );
}
