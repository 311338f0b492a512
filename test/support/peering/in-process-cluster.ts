/** A cluster in the test's own process: an API with the peering service, its listener, and its streams. */
import assert from 'node:assert/strict';
import type { CheckReport } from '../../../src/peering/check/report.ts';
import { peerings } from '../../../src/peering/record/record.ts';
import type { PeeringJson } from '../../../src/peering/record/record-to-json.ts';
import type { RunningPeering } from '../../../src/peering/run/start-peering.ts';
import { type Api, type ApiSettings, startApi } from '../process/api.ts';
import { until } from '../until.ts';
import { mustGenerate, mustReadRecord, requestEstablish } from './peering-requests.ts';
import { startPeeringService } from './start-peering-service.ts';

/** Timeouts that do not expire on a busy machine. */
const SESSIONS = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 60_000, handshakeTimeoutMs: 20_000 };

export interface InProcessCluster extends AsyncDisposable {
  readonly api: Api;
  readonly running: RunningPeering;
  /** Waits until `fits` accepts the record, and returns it. */
  untilRecord(name: string, fits: (record: PeeringJson) => boolean): Promise<PeeringJson>;
  /** Runs the connection check. Returns the ID of each check with its code or its status. */
  checkCodes(name: string): Promise<readonly string[]>;
}

/** Starts a cluster whose tokens contain its own address. */
export async function startInProcessCluster(
  settings: ApiSettings = {},
  parts: Partial<Parameters<typeof startPeeringService>[2]> = {},
): Promise<InProcessCluster> {
  await using opened = new AsyncDisposableStack();
  const addresses: string[] = [];
  const api = opened.use(await startApi({ ...settings, peering: { addresses: () => addresses, ...settings.peering } }));
  const { node = 'a' } = settings;
  const running = opened.use(await startPeeringService(api, [], { node, sessions: SESSIONS, ...parts }));
  addresses.push(running.address);
  const owned = opened.move();
  return {
    api,
    running,
    async untilRecord(name, fits) {
      let last: PeeringJson | undefined;
      const look = async (): Promise<boolean> => {
        last = await mustReadRecord(api, name);
        return fits(last);
      };
      await until(`the record of ${name} fits`, look).catch((error: Error) =>
        assert.fail(`${error.message}: it is ${JSON.stringify(last)}`),
      );
      return last as PeeringJson;
    },
    async checkCodes(name) {
      const { Checks } = (await api.request('GET', `/v1/peering/${name}/check`)).json<CheckReport>();
      return Checks.map(({ ID, Code, Status }) => `${ID} ${Code ?? Status}`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const isActive = ({ State }: PeeringJson): boolean => State === 'ACTIVE';

/** Peers two clusters under the names `west` (accepting) and `east` (dialing), and waits until both are ACTIVE. */
export async function peerInProcessClusters(west: InProcessCluster, east: InProcessCluster): Promise<void> {
  assert.equal((await requestEstablish(east.api, 'west', await mustGenerate(west.api, 'east'))).status, 200);
  await Promise.all([west.untilRecord('east', isActive), east.untilRecord('west', isActive)]);
}

/** Returns the stored row of a peering. */
export const rowOf = ({ api }: InProcessCluster, name: string) => {
  const stored = api.state.snapshot.find(peerings, 'name', `default/${name}`);
  assert.ok(stored !== undefined);
  return stored.row;
};
