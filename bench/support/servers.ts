/** Servers under load beside each other: requests a second, and what each request costs them. */
import { readFileSync } from 'node:fs';
import { median } from './figures.ts';
import { type Load, measureRate } from './wrk.ts';

/** A server process, and what it is asked for. */
export interface Loaded extends Load {
  readonly pid: number;
}

/** Medians of the rounds. */
export interface ServerFigures {
  /** Requests a second. */
  readonly rate: number;
  /** CPU time of the server a request, all threads, microseconds: what other processes do changes it little. */
  readonly cpuUs: number;
}

const ROUNDS = 3;
/** Of the times in /proc: USER_HZ, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** Each server in turns, so that all meet the same noise; each round has a number, from 0. */
export async function compareServers(loads: readonly ((round: number) => Loaded)[]): Promise<ServerFigures[]> {
  const rounds: ServerFigures[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, one] of loads.entries()) rounds[i]?.push(await measure(one(round)));
  }
  return rounds.map((of) => ({
    rate: median(of.map(({ rate }) => rate)),
    cpuUs: median(of.map(({ cpuUs }) => cpuUs)),
  }));
}

async function measure({ pid, ...wanted }: Loaded): Promise<ServerFigures> {
  const before = cpuSeconds(pid);
  const rate = await measureRate(wanted);
  return { rate, cpuUs: ((cpuSeconds(pid) - before) / (rate * wanted.seconds)) * 1e6 };
}

/** CPU time that a process has used, in user and kernel mode. */
function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold anything, `utime` and `stime` are the 12th and 13th fields.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
