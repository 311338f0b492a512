/**
 * Compares the files of `deploy/` with the program: settings, paths, probes and timeouts. Image builds and Kubernetes
 * clusters are not tested, because they need a daemon.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { CLIENT_VARIABLES } from '../../src/config/given.ts';
import { userToken } from '../../src/config/secrets.ts';
import { secretVariableOf, settingKeys, variableOf } from '../../src/config/table.ts';
import { type Config, loadConfig } from '../../src/config.ts';

import { planMemory } from '../../src/main/memory-plan.ts';
import { fitsMemory, MEBIBYTE, oldSpaceBytes, TOKEN_BYTES } from '../support/process/heap-size.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const textOf = (file: string): Promise<string> => readFile(path.join(ROOT, 'deploy', file), 'utf8');

/**
 * Returns the settings of a server with these variables and this settings file.
 * @param files paths of files that exist, such as mounted secrets @throws ConfigError if a setting is rejected
 */
async function settingsOf(
  environment: Readonly<Record<string, string>>,
  { content = '', files = [] }: { content?: string; files?: readonly string[] } = {},
): Promise<Config> {
  await using root = await temporaryDirectory();
  let moved = content;
  for (const file of files) {
    const there = path.join(root.path, file);
    await mkdir(path.dirname(there), { recursive: true });
    await writeFile(there, '');
    moved = moved.replaceAll(file, there);
  }
  const configFile = path.join(root.path, 'accord.yaml');
  await writeFile(configFile, moved);
  const host = { name: 'host', isTerminal: false };
  return (await loadConfig({ flags: new Map(), environment, configFile, host })).config;
}

/** Returns the duration of `shutdown.grace`. */
const graceSecondsOf = (config: Config): number => config.shutdown.grace / 1_000;

test('the files of deploy/ name only variables of settings and of the client', async () => {
  const known = new Set<string | undefined>([
    ...settingKeys.flatMap((key) => [variableOf(key), secretVariableOf(key)]),
    ...CLIENT_VARIABLES,
  ]);
  const manifests = ['kubernetes/accord.yaml', 'kubernetes/import.yaml'];
  for (const file of ['Dockerfile', 'README.md', 'systemd/accord.service', ...manifests]) {
    // Prose can name a prefix such as `ACCORD_…`, which the pattern does not match.
    const named = [...(await textOf(file)).matchAll(/\bACCORD_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
      file,
    );
  }
});

describe('deploy/Dockerfile', () => {
  /** Returns each instruction with its arguments. A backslash continues an instruction on the next line. */
  const instructions = async (): Promise<readonly (readonly [string, string])[]> =>
    (await textOf('Dockerfile'))
      .replaceAll(/^#.*\n/gm, '')
      .replaceAll(/\\\n/g, ' ')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1).trim()]);
  const valuesOf = async (name: string): Promise<readonly string[]> =>
    (await instructions()).filter(([instruction]) => instruction === name).map(([, value]) => value);

  test('copies paths that exist and that Dockerfile.dockerignore allows', async () => {
    const allowed = (await textOf('Dockerfile.dockerignore')).split('\n').filter((line) => line.startsWith('!'));
    const sources = (await valuesOf('COPY'))
      .filter((words) => !words.startsWith('--from='))
      .flatMap((words) => words.split(/ +/).slice(0, -1));
    assert.ok(sources.includes('src') && sources.includes('package-lock.json'));
    for (const source of sources) {
      assert.ok(existsSync(path.join(ROOT, source)), source);
      assert.ok(allowed.includes(`!${source}`), source);
    }
  });

  test('runs the program of package.json without a shell', async () => {
    const { bin } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
    const program = ['node', `/opt/accord/${bin.accord}`];
    assert.deepEqual(
      (await valuesOf('ENTRYPOINT')).map((value) => JSON.parse(value)),
      [program],
    );
    assert.deepEqual(await valuesOf('CMD'), ['["server"]']);
    assert.match(
      (await valuesOf('HEALTHCHECK'))[0] ?? '',
      /CMD \["node", "\/opt\/accord\/dist\/bin\/accord.js", "status"\]$/,
    );
  });

  test('runs as a numeric user other than root, and needs no secret in the build', async () => {
    assert.deepEqual(await valuesOf('USER'), ['10001:10001']);
    assert.deepEqual(await valuesOf('ARG'), []);
    assert.doesNotMatch((await valuesOf('ENV')).join(' '), /TOKEN|KEY|PASSWORD|SECRET/);
  });

  test('sets options that Node.js accepts, and limits the heap to a percentage of the memory', async () => {
    const [options = ''] = (await valuesOf('ENV')).flatMap((value) => /NODE_OPTIONS=(\S+)/.exec(value)?.[1] ?? []);
    const env = { NODE_OPTIONS: options };
    const { status, stderr } = spawnSync(process.execPath, ['-e', '0'], { env, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(options, /^--max-old-space-size-percentage=\d\d$/);
  });

  test('has valid settings once peering.advertise is set [SRV-20]', async () => {
    const pairs = (await valuesOf('ENV')).flatMap((value) => value.split(/ +/)).map((pair) => pair.split('='));
    const environment = Object.fromEntries(pairs.filter(([name]) => name?.startsWith('ACCORD_')));
    await assert.rejects(settingsOf(environment), /peering\.advertise/);
    const config = await settingsOf({ ...environment, ACCORD_PEERING_ADVERTISE: 'accord.example.org:8503' });
    const ports = [config.http.address.port, config.peering.address.port].join(' ');
    assert.deepEqual(await valuesOf('EXPOSE'), [ports]);
    assert.deepEqual(await valuesOf('VOLUME'), [config.dataDir]);
  });
});

describe('deploy/systemd/accord.service', () => {
  const UNIT = path.join(ROOT, 'deploy/systemd/accord.service');
  const withSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  const skip = withSystemd ? false : 'systemd-analyze is missing';

  const lines = async (key: string): Promise<readonly string[]> =>
    [...(await textOf('systemd/accord.service')).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(
      ([, value = '']) => value,
    );

  test('has valid settings, a stop timeout above shutdown.grace, and enough file descriptors', async () => {
    const environment = (await lines('Environment')).filter((line) => line.startsWith('ACCORD_'));
    assert.deepEqual(environment, ['ACCORD_DATA_DIR=%S/accord', 'ACCORD_DATA_KEY_FILE=%d/data-key']);
    const config = await settingsOf(Object.fromEntries(environment.map((line) => line.split('='))));
    assert.ok(Number((await lines('TimeoutStopSec'))[0]) > graceSecondsOf(config));
    assert.ok(Number((await lines('LimitNOFILE'))[0]) > config.limits.connections + config.limits.streams);
  });

  test('loads the credentials that its settings name', async () => {
    const names = (await lines('LoadCredential')).map((line) => line.split(':')[0]);
    assert.deepEqual(names, ['data-key']);
  });

  test('passes systemd-analyze verify', { skip }, async () => {
    await using folder = await temporaryDirectory();
    const unit = path.join(folder.path, 'accord.service');
    // The program need not be installed on this machine.
    const text = await textOf('systemd/accord.service');
    await writeFile(unit, text.replaceAll(/(?<=^Exec\w+=)\/\S+/gm, process.execPath));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });

  test('passes systemd-analyze verify with the drop-in of README.md', { skip }, async () => {
    const [, dropIn = ''] = /^# cat > \S+\/once\.conf <<'END'\n(.*?)^END$/ms.exec(await textOf('README.md')) ?? [];
    assert.match(dropIn, /--import-file .* --import-passphrase-file %d\/passphrase$/m);
    await using folder = await temporaryDirectory();
    const unit = path.join(folder.path, 'accord.service');
    await mkdir(`${unit}.d`);
    const withNode = (text: string): string => text.replaceAll(/(?<=^Exec\w+=)\/\S+/gm, process.execPath);
    await writeFile(unit, withNode(await textOf('systemd/accord.service')));
    await writeFile(path.join(`${unit}.d`, 'once.conf'), withNode(dropIn));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });

  test('has an exposure level of at most 1.5 in systemd-analyze security', { skip }, () => {
    const options = ['security', '--offline=true', '--threshold=15', '--no-pager', UNIT];
    const { status, stdout } = spawnSync('systemd-analyze', options, { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly [string, string] } } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
}

interface PodSpec {
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string }[];
  readonly securityContext: unknown;
}

/** The fields of a manifest that the tests read. */
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly serviceName?: string;
    readonly selector?: unknown;
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template?: { readonly metadata: { readonly labels: unknown }; readonly spec: PodSpec };
  };
}

describe('deploy/kubernetes/accord.yaml', async () => {
  const documents = parseAllDocuments(await textOf('kubernetes/accord.yaml'));
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const named = (kind: string, name: string): Manifest =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name) ??
    assert.fail(`no ${kind} ${name}`);
  const template = named('StatefulSet', 'accord').spec?.template ?? assert.fail('no template');
  const { spec: pod } = template;
  const [container] = pod.containers;
  const content = named('ConfigMap', 'accord').data?.['accord.yaml'] ?? assert.fail('no settings');
  const files = [...content.matchAll(/ (\/etc\/accord\/\S+)$/gm)].map(([, file = '']) => file);
  const environment = Object.fromEntries(container.env.map(({ name, value = 'accord-0' }) => [name, value]));

  test('is valid YAML and contains no Secret', () => {
    for (const { errors, warnings } of documents) assert.deepEqual([...errors, ...warnings], []);
    assert.ok(!manifests.some(({ kind }) => kind === 'Secret'));
  });

  test('has valid settings, ports that match the listeners, and a node name per server', async () => {
    const { http, peering, node, store, dataDir } = await settingsOf(environment, { content, files });
    assert.deepEqual([store, node.name], ['etcd', 'accord-0']);
    const ports = container.ports.map(({ name, containerPort }) => [name, containerPort]);
    assert.deepEqual(ports, [
      ['http', http.address.port],
      ['peering', peering.address.port],
    ]);
    assert.ok(container.volumeMounts.some(({ mountPath }) => mountPath === dataDir));
    assert.deepEqual(container.args, ['server', '--config', '/etc/accord/accord.yaml']);
  });

  test('disables service links, because their variables would be unknown settings [SRV-10]', () => {
    assert.equal(pod.enableServiceLinks, false);
  });

  test('mounts every file that the settings name', () => {
    const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
    for (const file of files) assert.ok(mounts.includes(path.dirname(file)), file);
    const volumes = pod.volumes.map(({ name }) => name);
    for (const { name } of container.volumeMounts) assert.ok(volumes.includes(name), name);
  });

  test('probes /healthz for startup and liveness, and /readyz for readiness', () => {
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    assert.deepEqual(
      probes.map(({ httpGet }) => [httpGet.path, httpGet.port, httpGet.scheme]),
      [
        ['/healthz', 'http', 'HTTPS'],
        ['/healthz', 'http', 'HTTPS'],
        ['/readyz', 'http', 'HTTPS'],
      ],
    );
  });

  test('has a termination grace period above shutdown.grace', async () => {
    const config = await settingsOf(environment, { content, files });
    const pauseSeconds = Number(container.lifecycle.preStop.exec.command[1]);
    assert.ok(pauseSeconds + graceSecondsOf(config) < pod.terminationGracePeriodSeconds);
  });

  test('has services and a disruption budget that select its pods', () => {
    const { labels } = template.metadata;
    for (const name of ['accord', 'accord-peering', 'accord-nodes']) {
      const { spec } = named('Service', name);
      assert.deepEqual(spec?.selector, labels, name);
      const targets = container.ports.map((port) => port.name);
      for (const { targetPort } of spec?.ports ?? []) assert.ok(targets.includes(targetPort), name);
    }
    for (const kind of ['StatefulSet', 'PodDisruptionBudget']) {
      assert.deepEqual(named(kind, 'accord').spec?.selector, { matchLabels: labels }, kind);
    }
    assert.equal(named('StatefulSet', 'accord').spec?.serviceName, named('Service', 'accord-nodes').metadata.name);
  });

  test('has a heap that fits its rows, and a memory limit that fits its heap [SRV-30]', async () => {
    const { state } = await settingsOf(environment, { content, files });
    const heap = oldSpaceBytes(environment['NODE_OPTIONS'] ?? '');
    const fitting = planMemory({ oldGenerationBytes: heap, sharedStore: true }).rows.bytesMax / TOKEN_BYTES;
    assert.ok(state.rowsMax <= fitting, `${state.rowsMax} rows, ${fitting} fit`);
    const [, gibibytes] = /^(\d+)Gi$/.exec(container.resources.limits.memory) ?? [];
    assert.ok(fitsMemory(heap, Number(gibibytes) * 1_024 * MEBIBYTE));
  });

  test('has a pod for imports that differs from the servers in its command and the import volume only', async () => {
    const { spec } = parse(await textOf('kubernetes/import.yaml')) as { readonly spec: PodSpec };
    const [importer] = spec.containers;
    const isShared = ({ name }: { readonly name: string }): boolean => name !== 'import';
    assert.deepEqual(spec.volumes.filter(isShared), pod.volumes);
    assert.deepEqual(importer.volumeMounts.filter(isShared), container.volumeMounts);
    assert.deepEqual(
      [spec.securityContext, spec.enableServiceLinks, importer.image, importer.env, importer.resources],
      [pod.securityContext, pod.enableServiceLinks, container.image, container.env, container.resources],
    );
    const [script = ''] = importer.args;
    assert.ok(script.includes(container.args.join(' ')), script);
    assert.match(
      script,
      /exec node \/opt\/accord\/dist\/bin\/accord\.js server .*--import-file \/import\/state\.jsonl/,
    );
    assert.equal(spawnSync('sh', ['-n', '-c', script]).status, 0);
  });

  const withOpenssl = spawnSync('openssl', ['version']).status === 0;
  const skip = withOpenssl ? false : 'openssl is missing';

  test('accepts the admin token that the command in README.md generates [SRV-41]', { skip }, async () => {
    const [, token = ''] = /--from-literal=admin-token=("\$.*")$/m.exec(await textOf('README.md')) ?? [];
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${token}`], { encoding: 'utf8' });
    assert.equal(userToken.parse(stdout), stdout);
  });

  test('runs the image of this version', async () => {
    const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
    assert.equal(container.image, `accord:${version}`);
  });
});
