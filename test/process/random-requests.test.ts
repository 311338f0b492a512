/**
 * Random requests to every endpoint, with valid and invalid bodies, paths, queries and headers. The server answers each
 * of them without an internal error, and a rejected request changes nothing.
 */
import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { SCHEMA } from '../../src/main/schema.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { dumpState, openState } from '../support/state/state.ts';

const REQUESTS = 10_000;
const SEED = 20_260_131;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly token: 'first' | 'weak' | 'unknown' | 'none';
}

/** Prefers `usual`, because the server reports only the first error of a request with several. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 6): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });
const absent = fc.constant(undefined);

const partition = fc.constantFrom('default', 'eu', 'EU', 'new-1');
const word = fc.constantFrom('*', 'a_b', '', ' ', '-', 'self', '..', 'nowhere', 'x'.repeat(300));
const text = fc.oneof(word, fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }));
/** A path segment or a query value, encoded or raw. */
const segment = fc.oneof(
  text.map((raw) => encodeURIComponent(raw.toWellFormed())),
  fc.stringMatching(/^[!$-.:-~]{0,20}$/),
  fc.constantFrom('%', '%zz', '%00', '%2e%2e', '%ff', '%E0%A4%A', '%2F'),
);

const parameter = mostly(
  fc.oneof(
    fc.record({ name: fc.constant('partition'), value: mostly(partition, segment, 2) }),
    fc.record({ name: fc.constant('limit'), value: mostly(fc.nat(20_000).map(String), segment, 2) }),
    fc.record({
      name: fc.constantFrom('after', 'before', 'since', 'pretty', 'cached', 'stale', 'consistent'),
      value: segment,
    }),
  ),
  fc.record({ name: segment, value: segment }),
);
/** Values of `index` and `wait`. No value makes a query wait for minutes. */
const waiting = fc.tuple(
  mostly(fc.nat(3_000).map(String), segment),
  mostly(fc.constant('1ms'), fc.constantFrom('x', '1', '-1s')),
);

const grant = fc.record(
  {
    Resource: mostly(fc.constantFrom('peering', 'services', 'config', 'acl', 'operator'), text),
    Access: mostly(fc.constantFrom('read', 'write'), text),
    Partition: mostly(mostly(partition, fc.constant('*')), text),
    Names: mostly(absent, fc.array(text, { maxLength: 3 }), 2),
  },
  { requiredKeys: ['Resource', 'Access'] },
);
const likely = fc.record(
  {
    Description: mostly(text, fc.constant('x'.repeat(2_000)), 20),
    Partition: mostly(partition, text),
    Grants: fc.array(grant, { maxLength: 3 }),
    ExpirationTTL: mostly(absent, fc.oneof(fc.constantFrom('1h', '1ns', '0', '-1h', '9'.repeat(60)), text)),
    ExpirationTime: mostly(absent, fc.oneof(fc.constantFrom('2030-01-01T00:00:00Z', '9999-12-31T23:59:60Z'), text)),
  },
  { requiredKeys: [] },
);
const key = fc.constantFrom(
  ...['Description', 'description', 'Partition', 'Grants', 'ExpirationTime', 'ExpirationTTL', 'AccessorID', 'Name'],
  ...['CreateIndex', 'ModifyIndex', 'CreateTime', 'SecretID', '__proto__', 'constructor', 'toString'],
);
const unlikely = fc.oneof(
  fc.dictionary(key, fc.jsonValue(), { maxKeys: 4 }),
  fc.tuple(likely, key, fc.jsonValue()).map(([usual, name, value]) => ({ ...usual, [name]: value })),
  fc.jsonValue({ maxDepth: 6 }),
);
const json = mostly(likely, unlikely, 2).map((value) => Buffer.from(JSON.stringify(value)));
const invalidJson = fc.oneof(
  fc.tuple(json, fc.nat(60)).map(([bytes, cut]) => bytes.subarray(0, cut)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.constant(Buffer.from('['.repeat(2_000))),
);
const body = mostly(json, invalidJson);

const headers = fc.dictionary(
  fc.constantFrom(
    ...['x-service-partition', 'x-service-export-passphrase', 'authorization', 'x-consul-token', 'x-request-id'],
    ...['accept', 'accept-encoding', 'content-type', 'content-encoding', 'origin', 'if-none-match', 'cookie'],
  ),
  fc.oneof(partition, segment, fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,40}$/)),
  { maxKeys: 3 },
);

function requests(api: Api, accessorId: string): fc.Arbitrary<Sent> {
  const parameters = { ':accessor': accessorId, ':name': 'eu' } as Readonly<Record<string, string>>;
  const endpoint = fc.tuple(fc.constantFrom(...api.server.endpoints), mostly(absent, segment, 2));
  const target = endpoint.map(([{ method, path }, given]) => ({
    method: method as string,
    path: path.replaceAll(/:\w+/g, (name) => given ?? parameters[name] ?? 'x'),
  }));
  const nowhere = segment.map((one) => ({ method: 'GET', path: `/v1/${one}` }));
  const otherMethod = fc.constantFrom(...METHODS.filter((method) => method !== 'CONNECT'));
  return fc
    .record({
      target: mostly(target, nowhere, 20),
      method: mostly(absent, otherMethod, 12),
      waiting: mostly(absent, waiting),
      query: mostly(fc.array(parameter, { maxLength: 1 }), fc.array(parameter, { maxLength: 4 }), 2),
      headers: mostly(fc.constant({}), headers, 2),
      body: mostly(body, absent),
      token: mostly(
        fc.constant('first' as const),
        fc.constantFrom('weak' as const, 'unknown' as const, 'none' as const),
        3,
      ),
    })
    .map(({ target: { method: usual, path }, method = usual, waiting: wait, query, ...rest }) => {
      const pairs = query.map(({ name, value }) => `${name}=${value}`).filter((pair) => !/^(index|wait)\b/.test(pair));
      if (wait !== undefined) pairs.unshift(`index=${wait[0]}`, `wait=${wait[1]}`);
      return { method, path: `${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`, ...rest };
    });
}

test(`${REQUESTS} random requests cause no 5xx, and the rejected ones change nothing [V1-51, SRV-59]`, async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  const { SecretID: weak, AccessorID } = await api.makeToken(['acl:write@eu', 'operator:read@*'], { Partition: 'eu' });
  const tokens = { first: api.token, weak, unknown: 'unknown', none: null };
  const counts = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(requests(api, AccessorID), async ({ method, path, headers: given, body: sent, token }) => {
      const { snapshot } = api.state;
      const answer = await api.request(method, path, { headers: given, body: sent, token: tokens[token] });
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      assert.ok(answer.status < 500, `${answer.status} ${answer.text}`);
      assert.ok(answer.headers['x-request-id'] !== undefined);
      if (answer.status >= 400 || method === 'GET' || method === 'HEAD') assert.equal(api.state.snapshot, snapshot);
    }),
    { numRuns: REQUESTS, seed: SEED },
  );
  // The generator must produce each kind of result often enough.
  for (const status of [200, 400, 403, 404, 405]) {
    const count = counts.get(status) ?? 0;
    assert.ok(count > REQUESTS / 100, `${count} of ${REQUESTS} responses have the status ${status}`);
  }
  const errors = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(errors, []);
  assert.equal((await api.request('GET', '/v1/acl/token/self')).status, 200);
  const inMemory = dumpState(api.state.snapshot);
  await api.state[Symbol.asyncDispose]();
  await using again = await openState(sqliteEngine({ directory: api.directory }), { schema: SCHEMA });
  assert.deepEqual(dumpState(again.snapshot), inMemory, 'the stored state is the state in memory');
});
