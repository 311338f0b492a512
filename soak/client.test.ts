import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outcomeOf } from './client.ts';

describe('outcomeOf', () => {
  for (const [status, text, outcome] of [
    [200, '{}', 'done'],
    [204, '', 'done'],
    [404, '{}', 'rejected'],
    [409, '{"code":"conflict"}', 'rejected'],
    [503, '{"code":"unavailable"}', 'unavailable'],
    [503, '{"code":"outcome-unknown"}', 'unknown'],
    [503, '{"errors":[{"status":"503","title":"outcome unknown"}]}', 'unknown'],
    [500, '{"code":"internal"}', 'unknown'],
  ] as const) {
    test(`returns ${outcome} for ${status} ${text}`, () => {
      assert.equal(outcomeOf({ status, text }), outcome);
    });
  }
});
