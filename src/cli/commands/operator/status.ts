/** `accord status`: readiness, version, and store contact of a server. */
import type { Command } from 'commander';
import { type Client, type ClientResponse, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

interface StatusOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** The status of a server. A value that the server does not report is null. */
interface ServerStatus {
  readonly address: string;
  readonly healthy: boolean;
  readonly ready: boolean;
  /** The body of `/readyz`, such as `degraded`. */
  readonly detail: string;
  readonly version: string | null;
  readonly index: number | null;
  readonly storeInContact: boolean | null;
  readonly storeLastContactMs: number | null;
}

export function addStatusCommand(program: Command, shell: Shell): void {
  withConnection(
    program
      .command('status')
      .description('Show whether a server is ready, its version and index, and when it last reached the store')
      .option('--json', 'print JSON instead of a table'),
  )
    .addHelpText(
      'after',
      '\nThe exit code is 1 if the server is not ready. The last contact with the store is shown only with a token.',
    )
    .action((options: StatusOptions) => status(shell, options));
}

async function status(shell: Shell, options: StatusOptions): Promise<void> {
  const client = connect(shell, options);
  const result = await readStatus(client);
  print(shell, options, result, (found) => describe(found, client.hasToken));
  if (!result.ready) throw new CommandError('failed', 'the server is not ready');
}

async function readStatus(client: Client): Promise<ServerStatus> {
  const get = (path: string): Promise<ClientResponse> => client.request({ method: 'GET', path });
  const health = await get('/healthz');
  // A stale read, because a consistent one would wait for a store that the server cannot reach.
  const paths = ['/readyz', '/version', '/metrics', '/v1/acl/token/self?stale'];
  const responses = await Promise.all(paths.map(get));
  const [ready, version, metrics, self] = responses as [ClientResponse, ClientResponse, ClientResponse, ClientResponse];
  const knownLeader = self.headers['x-service-knownleader'];
  return {
    address: client.address,
    healthy: health.status === 200,
    ready: ready.status === 200,
    detail: ready.text.trim(),
    version: version.status === 200 ? parseVersion(version.text) : null,
    index: parseNumber(/^accord_state_index (\d+)$/m.exec(metrics.text)?.[1]),
    storeInContact: knownLeader === undefined ? null : knownLeader === 'true',
    storeLastContactMs: parseNumber(self.headers['x-service-lastcontact']),
  };
}

function parseVersion(text: string): string | null {
  try {
    const { Version: version } = JSON.parse(text);
    return typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}

const parseNumber = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null;

/** Bodies of `/readyz` without further information. */
const PLAIN_READY = new Set(['', 'ok', 'ready']);

function describe(result: ServerStatus, hasToken: boolean): string {
  const { ready, detail, storeInContact, storeLastContactMs } = result;
  const readiness = ready ? 'yes' : 'no';
  const unknownContact = hasToken ? 'unknown' : 'unknown (requires a token)';
  const contact = storeInContact ? 'in contact' : 'no contact';
  const age = storeLastContactMs === null ? '' : `, last contact ${storeLastContactMs} ms ago`;
  return details([
    ['Address', result.address],
    ['Healthy', result.healthy ? 'yes' : 'no'],
    ['Ready', PLAIN_READY.has(detail) ? readiness : `${readiness} (${detail})`],
    ['Version', result.version ?? 'unknown'],
    ['Index', result.index === null ? 'unknown' : String(result.index)],
    ['Store', storeInContact === null ? unknownContact : contact + age],
  ]);
}
