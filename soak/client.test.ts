import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outcomeOf } from './client.ts';

describe('what a client concludes from', () => {
  for (const [status, text, outcome] of [
    [200, '{}', 'done'],
    [204, '', 'done'],
    [404, '{}', 'refused'],
    [409, '{"code":"conflict"}', 'refused'],
    [503, '{"code":"unavailable"}', 'unavailable'],
    [503, '{"code":"outcome-unknown"}', 'unknown'],
    [503, '{"errors":[{"status":"503","title":"outcome unknown"}]}', 'unknown'],
    [500, '{"code":"internal"}', 'unknown'],
  ] as const) {
    test(`${status} ${text}: ${outcome}`, () => {
      assert.equal(outcomeOf({ status, text }), outcome);
    });
  }
});
