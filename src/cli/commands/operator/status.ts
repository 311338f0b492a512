/** `accord status` */
import type { Command } from 'commander';
import { type Answer, type Client, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

interface StatusOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** What a server says of itself. What it does not tell is null. */
interface ServerStatus {
  readonly address: string;
  readonly healthy: boolean;
  /** Serves requests; `detail` has its words where there is more to say, such as `degraded`. */
  readonly ready: boolean;
  readonly detail: string;
  readonly version: string | null;
  readonly index: number | null;
  readonly storeInContact: boolean | null;
  readonly storeLastContactMs: number | null;
}

/** Adds the command. */
export function addStatusCommand(program: Command, shell: Shell): void {
  withConnection(
    program
      .command('status')
      .description('shows whether a server is ready, its version, its index and its contact with the store')
      .option('--json', 'JSON instead of a table'),
  )
    .addHelpText('after', '\nThe exit code is 1 when the server is not ready. Index and store need a token.')
    .action((options: StatusOptions) => status(shell, options));
}

async function status(shell: Shell, options: StatusOptions): Promise<void> {
  const client = connect(shell, options);
  const result = await readStatus(client);
  print(shell, options, result, (told) => describe(told, client.hasToken));
  if (!result.ready) throw new CommandError('refused', 'the server is not ready');
}

async function readStatus(client: Client): Promise<ServerStatus> {
  const get = (path: string): Promise<Answer> => client.ask({ method: 'GET', path });
  const health = await get('/healthz');
  // Stale: a server that has lost its store tells so at once, instead of waiting for it.
  const paths = ['/readyz', '/version', '/metrics', '/v1/acl/token/self?stale'];
  const answers = await Promise.all(paths.map(get));
  const [ready, version, metrics, self] = answers as [Answer, Answer, Answer, Answer];
  const knownLeader = self.headers['x-service-knownleader'];
  return {
    address: client.address,
    healthy: health.status === 200,
    ready: ready.status === 200,
    detail: ready.text.trim(),
    version: version.status === 200 ? versionIn(version.text) : null,
    index: numberIn(/^accord_state_index (\d+)$/m.exec(metrics.text)?.[1]),
    storeInContact: knownLeader === undefined ? null : knownLeader === 'true',
    storeLastContactMs: numberIn(self.headers['x-service-lastcontact']),
  };
}

function versionIn(text: string): string | null {
  try {
    const { Version: version } = JSON.parse(text);
    return typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}

const numberIn = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null;

/** What `/readyz` says when there is nothing more to say. */
const PLAIN_READY = new Set(['', 'ok', 'ready']);

function describe(result: ServerStatus, hasToken: boolean): string {
  const { ready, detail, storeInContact, storeLastContactMs } = result;
  const readiness = ready ? 'yes' : 'no';
  const untold = hasToken ? 'not told' : 'not told without a token';
  const contact = storeInContact ? 'in contact' : 'no contact';
  const age = storeLastContactMs === null ? '' : `, last heard of ${storeLastContactMs} ms ago`;
  return details([
    ['Address', result.address],
    ['Healthy', result.healthy ? 'yes' : 'no'],
    ['Ready', PLAIN_READY.has(detail) ? readiness : `${readiness} (${detail})`],
    ['Version', result.version ?? 'not told'],
    ['Index', result.index === null ? 'not told' : String(result.index)],
    ['Store', storeInContact === null ? untold : contact + age],
  ]);
}
