import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { nextTurn } from '../clock/next-turn.ts';
import type { Member } from '../engine/engine.ts';
import { type Job, Jobs, rendezvous } from './placement.ts';

const members = (...names: readonly string[]): Member[] =>
  names.map((name) => ({ name, incarnation: name, formats: {} }));
const subjects = Array.from({ length: 3_000 }, (_, i) => `subject ${i}`);

describe('rendezvous', () => {
  it('picks nobody of none, and the same of the same, in whatever order', () => {
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

  it('moves only what the node had that goes', () => {
    for (const subject of subjects) {
      const before = rendezvous(subject, members('a', 'b', 'c'));
      const after = rendezvous(subject, members('a', 'c'));
      if (before !== 'b') assert.equal(after, before);
    }
  });
});

describe('jobs', () => {
  /** A job that runs until it is stopped, and how often it was started. */
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

  it('run here while this node is picked, stop when another is, and come back', async () => {
    const { jobs, clock, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    jobs.add(job);
    assert.equal(seen.started, 0, 'nobody is alive yet');
    jobs.onMembers(members('a'));
    assert.equal(seen.running, 1);
    const rival = Array.from({ length: 100 }, (_, i) => `b${i}`).find(
      (name) => rendezvous('job', members('a', name)) === name,
    );
    jobs.onMembers(members('a', rival ?? ''));
    await nextTurn();
    assert.equal(seen.running, 0);
    jobs.onMembers(members('a'));
    assert.equal(seen.running, 1);
    jobs.onMembers(members('a'));
    assert.equal(seen.started, 2, 'it is not started twice');
    closing.abort();
    await clock.run(2_000);
    await jobs.ended();
    assert.equal(seen.running, 0);
  });

  it('that fail are told of and started again after a pause', async () => {
    const { jobs, clock, closing, errors } = createJobs();
    let runs = 0;
    jobs.onMembers(members('a'));
    jobs.add({
      name: 'job',
      run: () => Promise.reject(new Error(`run ${++runs}`)),
    });
    await nextTurn();
    assert.equal(runs, 1);
    await clock.run(900);
    assert.equal(runs, 1, 'not at once');
    await clock.run(200);
    assert.equal(runs, 2);
    assert.deepEqual(errors.map(String), ['Error: run 1', 'Error: run 2']);
    closing.abort();
    await jobs.ended();
    assert.equal(clock.timers, 0);
  });

  it('that are taken back end here, and are waited for', async () => {
    const { jobs, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    jobs.onMembers(members('a'));
    const takeBack = jobs.add(job);
    assert.equal(seen.running, 1);
    takeBack();
    closing.abort();
    await jobs.ended();
    assert.equal(seen.running, 0);
    jobs.onMembers(members('a'));
    assert.equal(seen.started, 1, 'it is forgotten');
  });

  it('are not started any more when the state closes', async () => {
    const { jobs, closing } = createJobs();
    const { job, seen } = endlessJob('job');
    closing.abort();
    jobs.onMembers(members('a'));
    jobs.add(job);
    await jobs.ended();
    assert.equal(seen.started, 0);
  });
});
