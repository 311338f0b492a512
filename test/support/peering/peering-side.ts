/** One side of a peering in the test's own process: an API with the peering service, its listener and its streams. */
import assert from 'node:assert/strict';
import type { CheckReport } from '../../../src/peering/check/report.ts';
import { peerings } from '../../../src/peering/record/record.ts';
import type { ShownPeering } from '../../../src/peering/record/record-to-json.ts';
import type { RunningPeering } from '../../../src/peering/start-peering.ts';
import { type Api, type ApiSettings, startApi } from '../process/api.ts';
import { until } from '../until.ts';
import { generated, present, record } from './peering.ts';
import { startPeeringOf } from './running-peering.ts';

/** Long enough for nothing to end by itself on a busy machine. */
const SESSIONS = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 60_000, handshakeTimeoutMs: 20_000 };

export interface PeeringSide extends AsyncDisposable {
  readonly api: Api;
  readonly running: RunningPeering;
  /** Waits for the record of this name to fit. @returns it */
  untilRecord(name: string, fits: (record: ShownPeering) => boolean): Promise<ShownPeering>;
  /** What the connection check finds: each check with its code, or its status. */
  checked(name: string): Promise<readonly string[]>;
}

/** Starts one. Its tokens name its own address. */
export async function startSide(
  settings: ApiSettings = {},
  parts: Partial<Parameters<typeof startPeeringOf>[2]> = {},
): Promise<PeeringSide> {
  await using opened = new AsyncDisposableStack();
  const addresses: string[] = [];
  const api = opened.use(await startApi({ ...settings, peering: { addresses: () => addresses, ...settings.peering } }));
  const { node = 'a' } = settings;
  const running = opened.use(await startPeeringOf(api, [], { node, sessions: SESSIONS, ...parts }));
  addresses.push(running.address);
  const owned = opened.move();
  return {
    api,
    running,
    async untilRecord(name, fits) {
      let seen: ShownPeering | undefined;
      const look = async (): Promise<boolean> => {
        seen = await record(api, name);
        return fits(seen);
      };
      await until(`the record of ${name} fits`, look).catch((error: Error) =>
        assert.fail(`${error.message}: it is ${JSON.stringify(seen)}`),
      );
      return seen as ShownPeering;
    },
    async checked(name) {
      const { Checks } = (await api.request('GET', `/v1/peering/${name}/check`)).json<CheckReport>();
      return Checks.map(({ ID, Code, Status }) => `${ID} ${Code ?? Status}`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const isActive = ({ State }: ShownPeering): boolean => State === 'ACTIVE';

/** Peers them, and waits for the stream: `west` accepts and knows the other as `east`, which dials `west`. */
export async function peerSides(west: PeeringSide, east: PeeringSide): Promise<void> {
  assert.equal((await present(east.api, 'west', await generated(west.api, 'east'))).status, 200);
  await Promise.all([west.untilRecord('east', isActive), east.untilRecord('west', isActive)]);
}

/** The row of a peering of a side. */
export const rowOf = ({ api }: PeeringSide, name: string) => {
  const stored = api.state.snapshot.find(peerings, 'name', `default/${name}`);
  assert.ok(stored !== undefined);
  return stored.row;
};
