import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { nextTurn } from '../clock/next-turn.ts';
import type { LiveNode } from '../engine/engine.ts';
import { type Job, Jobs, rendezvous } from './placement.ts';

const members = (...names: readonly string[]): LiveNode[] => names.map((name) => ({ name, incarnation: name }));
const subjects = Array.from({ length: 3_000 }, (_, i) => `subject ${i}`);

describe('rendezvous', () => {
  it('picks the same member in any order, and undefined for an empty list', () => {
    assert.equal(rendezvous('s', []), undefined);
    for (const subject of subjects.slice(0, 50)) {
      assert.equal(rendezvous(subject, members('a', 'b', 'c')), rendezvous(subject, members('c', 'a', 'b')));
    }
  });

  it('spreads subjects evenly', () => {
    const counts = Map.groupBy(subjects, (subject) => rendezvous(subject, members('a', 'b', 'c')));
    for (const [name, picked] of counts)
      assert.ok(picked.length > 800 && picked.length < 1_200, `${name}: ${picked.length}`);
    assert.equal(counts.size, 3);
  });

  it('moves only the subjects of the member that leaves [STATE-91]', () => {
    for (const subject of subjects) {
      const before = rendezvous(subject, members('a', 'b', 'c'));
      const after = rendezvous(subject, members('a', 'c'));
      if (before !== 'b') assert.equal(after, before);
    }
  });
});

describe('Jobs', () => {
  /** A job that runs until it is stopped, and counts its starts. */
  function endlessJob(name: string) {
    const seen = { started: 0, running: 0 };
    const job: Job = {
      name,
      async run(signal) {
        seen.started++;
        seen.running++;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        seen.running--;
      },
    };
    return { job, seen };
  }

  function createJobs() {
    const clock = createFakeClock();
    const closing = new AbortController();
    const errors: unknown[] = [];
    const jobs = new Jobs({ node: 'a', clock, signal: closing.signal, onError: (_, error) => errors.push(error) });
    return { jobs, clock, closing, errors };
  }

  it('runs a job while this server is picked, and stops it while another one is [STATE-91]', async () => {
    const { jobs, clock, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    jobs.add(job);
    assert.equal(seen.started, 0, 'no member is alive');
    jobs.onLiveNodes(members('a'));
    assert.equal(seen.running, 1);
    const rival = Array.from({ length: 100 }, (_, i) => `b${i}`).find(
      (name) => rendezvous('job', members('a', name)) === name,
    );
    jobs.onLiveNodes(members('a', rival ?? ''));
    await nextTurn();
    assert.equal(seen.running, 0);
    jobs.onLiveNodes(members('a'));
    assert.equal(seen.running, 1);
    jobs.onLiveNodes(members('a'));
    assert.equal(seen.started, 2, 'a running job is not started again');
    closing.abort();
    await clock.run(2_000);
    await jobs.stopped();
    assert.equal(seen.running, 0);
  });

  it('reports a failed job and starts it again after a pause [STATE-92]', async () => {
    const { jobs, clock, closing, errors } = createJobs();
    let runs = 0;
    jobs.onLiveNodes(members('a'));
    jobs.add({
      name: 'job',
      run: () => Promise.reject(new Error(`run ${++runs}`)),
    });
    await nextTurn();
    assert.equal(runs, 1);
    await clock.run(900);
    assert.equal(runs, 1, 'no restart before the pause ends');
    await clock.run(200);
    assert.equal(runs, 2);
    assert.deepEqual(errors.map(String), ['Error: run 1', 'Error: run 2']);
    closing.abort();
    await jobs.stopped();
    assert.equal(clock.timerCount, 0);
  });

  it('stops a removed job and waits for its end', async () => {
    const { jobs, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    jobs.onLiveNodes(members('a'));
    const remove = jobs.add(job);
    assert.equal(seen.running, 1);
    remove();
    closing.abort();
    await jobs.stopped();
    assert.equal(seen.running, 0);
    jobs.onLiveNodes(members('a'));
    assert.equal(seen.started, 1, 'the job is removed');
  });

  it('starts no job while the state closes', async () => {
    const { jobs, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    closing.abort();
    jobs.onLiveNodes(members('a'));
    jobs.add(job);
    await jobs.stopped();
    assert.equal(seen.started, 0);
  });
});
