/** Checks both sides of the permanent peerings: their records, and that imported services equal exported services. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../test/support/process/server.ts';
import { checkPeeringRecord, type LinkStatus, type PeeringRecord } from './check-peering-record.ts';
import type { Client } from './client.ts';
import type { ResourceKind } from './kinds/resource-kind.ts';
import { AGREE_MS, CONVERGE_MS, IMPORT_MS, POLL_MS } from './limits.ts';
import type { ServerProcess } from './server-process.ts';
import { PEERINGS, type Topology } from './topology.ts';
import type { Violation, ViolationLog } from './violation-log.ts';

export interface PeeringCheckerOptions {
  readonly topology: Topology;
  readonly client: Client;
  readonly violations: ViolationLog;
  readonly exportedKinds: readonly ResourceKind[];
  linkStatus(): LinkStatus;
  /** Returns undefined during a disturbance, and a number that grows with every disturbance otherwise. */
  calmCount(): number | undefined;
  /** AGREE_MS by default. */
  readonly agreeMs?: number;
}

export interface PeeringChecker {
  /** Checks every record on every server that is up. Without a fault, both sides must become ACTIVE. */
  checkOnce(signal: AbortSignal): Promise<void>;
  /**
   * Waits until every record is ACTIVE on every server, and imported services equal exported services. The workers of
   * exported kinds must be paused.
   */
  waitForConvergence(signal: AbortSignal): Promise<void>;
}

interface Diff {
  readonly Comparable: boolean;
  readonly Differences: readonly { readonly Service: string; readonly Difference: string }[];
}

/** A condition that does not hold yet. */
type Mismatch = Omit<Violation, 'rule' | 'history'>;

const NO_RESPONSE = 'no response';

export function createPeeringChecker(options: PeeringCheckerOptions): PeeringChecker {
  const { topology, client, violations, exportedKinds, linkStatus, calmCount, agreeMs = AGREE_MS } = options;

  async function get(server: ServerProcess, path: string, signal: AbortSignal): Promise<Answer | undefined> {
    const request = { method: 'GET', path } as const;
    const { outcome, response, text } = await client.send(server, request, { label: 'peering check', signal });
    if (outcome === 'rejected') {
      violations.add({
        rule: 'a valid request is not rejected',
        request: `GET ${path}`,
        server: server.name,
        response: text,
        expected: 'a response: the peering exists',
      });
    }
    return outcome === 'done' ? response : undefined;
  }

  async function checkRecord(server: ServerProcess, name: string, signal: AbortSignal): Promise<Answer | undefined> {
    const path = `/v1/peering/${name}`;
    const response = await get(server, path, signal);
    if (response === undefined) return undefined;
    const expected = checkPeeringRecord(response.json<PeeringRecord>(), linkStatus());
    if (expected !== undefined) {
      const rule = 'an ACTIVE peering has a live stream';
      violations.add({ rule, request: `GET ${path}`, server: server.name, response: response.text, expected });
    }
    return response;
  }

  const records = (): { server: ServerProcess; name: string }[] =>
    topology.servers.flatMap((server) => PEERINGS.map(({ names }) => ({ server, name: names[server.cluster] })));

  async function findInactive(signal: AbortSignal): Promise<Mismatch | undefined> {
    for (const { server, name } of records()) {
      const response = await checkRecord(server, name, signal);
      if (response?.json<PeeringRecord>().State === 'ACTIVE') continue;
      return {
        request: `GET /v1/peering/${name}`,
        server: server.name,
        response: response?.text ?? NO_RESPONSE,
        expected: 'ACTIVE: no fault is active',
      };
    }
    return undefined;
  }

  /** Returns the keys and values of a list as text, ordered by key. */
  async function listText(
    server: ServerProcess,
    kind: ResourceKind,
    path: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const response = await get(server, path, signal);
    if (response === undefined) return undefined;
    const found = [...kind.parseList(response)].map(([key, { value }]) => `${key}:${value}`);
    return found.sort().join(' ');
  }

  /** Every exported list with the importing server and the path of the imported list. */
  const imports = exportedKinds.flatMap((kind) =>
    Array.from({ length: kind.workers }, (_, worker) => kind.list(worker).path).flatMap((exportedPath) =>
      topology.serversOf(kind.cluster === 'a' ? 'b' : 'a').flatMap((importer) =>
        PEERINGS.map(({ names }) => ({
          kind,
          exporter: topology.serversOf(kind.cluster)[0] as ServerProcess, // Every cluster has one.
          exportedPath,
          importer,
          importedPath: `${exportedPath}?peer=${names[importer.cluster]}`,
        })),
      ),
    ),
  );

  async function findDifference(signal: AbortSignal): Promise<Mismatch | undefined> {
    for (const { kind, exporter, exportedPath, importer, importedPath } of imports) {
      const exported = await listText(exporter, kind, exportedPath, signal);
      const imported = await listText(importer, kind, importedPath, signal);
      if (imported !== undefined && imported === exported) continue;
      const expected = `the list of ${exporter.name}: ${exported}`;
      const response = imported ?? NO_RESPONSE;
      return { request: `GET ${importedPath}`, server: importer.name, response, expected };
    }
    return await findDigestDifference(signal);
  }

  async function findDigestDifference(signal: AbortSignal): Promise<Mismatch | undefined> {
    for (const { server, name } of records()) {
      const path = `/v1/peering/${name}/diff`;
      const response = await get(server, path, signal);
      const diff = response?.json<Diff>();
      if (diff !== undefined && diff.Differences.length === 0) continue;
      return {
        request: `GET ${path}`,
        server: server.name,
        response: response?.text ?? NO_RESPONSE,
        expected: 'no differences: the workers are paused',
      };
    }
    return undefined;
  }

  /**
   * Polls until `find` returns undefined. Reports a violation of `rule` after `ms`. @returns whether it converged in
   * time
   */
  async function converges(
    rule: string,
    find: (signal: AbortSignal) => Promise<Mismatch | undefined>,
    ms: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const deadline = performance.now() + ms;
    for (;;) {
      const mismatch = await find(signal);
      if (mismatch === undefined || signal.aborted) return true;
      if (performance.now() > deadline) {
        violations.add({ rule, ...mismatch });
        return false;
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  return {
    async checkOnce(signal) {
      const before = calmCount();
      const up = records().filter(({ server }) => server.isUp);
      await Promise.all(up.map(({ server, name }) => checkRecord(server, name, signal)));
      if (before === undefined) return;
      // A mismatch does not count if a disturbance began while the records were read.
      const findWhileCalm = async (): Promise<Mismatch | undefined> => {
        const mismatch = await findInactive(signal);
        return calmCount() === before ? mismatch : undefined;
      };
      await converges('both sides are ACTIVE while no fault is active', findWhileCalm, agreeMs, signal);
    },
    async waitForConvergence(signal) {
      const isUp = await converges('peerings reconnect after a fault', findInactive, CONVERGE_MS, signal);
      if (isUp) await converges('imported services equal exported services', findDifference, IMPORT_MS, signal);
    },
  };
}
