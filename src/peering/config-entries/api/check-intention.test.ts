import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustGet } from '../../../../test/support/peering/catalog-requests.ts';
import { intentionEntry, mustWrite } from '../../../../test/support/peering/config-entry-requests.ts';
import { indexOfAnswer, mustGenerate, statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../../test/support/process/api.ts';
import type { IntentionJson } from './intention-to-json.ts';

interface Checked {
  readonly Allowed: boolean;
  readonly Reason: string;
  readonly Intention?: IntentionJson;
}

const check = (api: Api, query: string, token?: string | null) =>
  api.request('GET', `/v1/connect/intentions/check?${query}`, token === undefined ? {} : { token });
describe('a check without a matching intention', () => {
  for (const [what, policy, allowed, reason] of [
    ['is denied with acl.default-policy deny', {}, false, 'acl.default-policy is deny'],
    ['is allowed with acl.default-policy allow', { defaultPolicy: 'allow' }, true, 'acl.default-policy is allow'],
    ['is allowed with acl.enabled false', { enabled: false }, true, 'acl.enabled is false'],
  ] as const) {
    test(what, async () => {
      await using api = await startApi({ policy });
      const answer = await check(api, 'source=web&destination=db');
      assert.deepEqual(answer.json(), { Allowed: allowed, Reason: `no intention matches, and ${reason}` });
    });
  }
});

test('a check tells only what the caller may read elsewhere [SVC-114]', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  await mustGenerate(api, 'east');
  const { SecretID: token } = await api.makeToken(['config:read@default']);
  const { SecretID: knowing } = await api.makeToken(['config:read@*', 'peering:read@*']);
  const textOf = async (query: string, as: string) =>
    (await check(api, `source=web&destination=db&${query}`, as)).text.replace(/"Reason":"([^"]*)".*/, '$1');
  for (const [existing, missing] of [
    ['source-partition=eu', 'source-partition=us'],
    ['source-peer=east', 'source-peer=west'],
  ] as const) {
    assert.equal(await textOf(existing, token), await textOf(missing, token));
    assert.notEqual(await textOf(existing, knowing), await textOf(missing, knowing));
  }
});

describe('a check', () => {
  const api = sharedApi();

  test('returns the rule or setting that decided [SVC-90]', async () => {
    await mustGenerate(api(), 'east');
    await mustWrite(api(), intentionEntry('shown', ['allow web@East']));
    const { snapshot } = api().state;
    const answer = await check(api(), 'source=web&source-peer=east&destination=shown');
    assert.deepEqual(answer.json(), {
      Allowed: true,
      Reason: 'service-intentions "shown": source "web" of peer "East", allow',
      Intention: {
        SourcePeer: 'East',
        SourceName: 'web',
        DestinationPartition: 'default',
        DestinationName: 'shown',
        SourceType: 'consul',
        Action: 'allow',
        Precedence: 9,
        CreateIndex: snapshot.index,
        ModifyIndex: snapshot.index,
      },
    });
    const { Reason } = await mustGet<Checked>(api(), '/v1/connect/intentions/check?source=web&destination=nobody');
    assert.equal(Reason, 'no intention matches, and acl.default-policy is deny');
  });

  test('names a missing peer in Reason and wakes when it is created [SVC-88]', async () => {
    await mustWrite(api(), intentionEntry('later', ['allow web@later']));
    const path = '/v1/connect/intentions/check?source=web&source-peer=later&destination=later';
    const first = await api().request('GET', path);
    const { Allowed, Reason } = first.json<Checked>();
    assert.equal(Allowed, false);
    assert.equal(Reason, 'there is no peer "later": no intention matches, and acl.default-policy is deny');
    const { answer } = await api().startBlockingQuery(`${path}&index=${indexOfAnswer(first)}`);
    await mustGenerate(api(), 'Later');
    assert.equal((await answer).json<Checked>().Allowed, true);
  });

  for (const [query, text] of [
    ['destination=db', "required query parameter 'source' not set"],
    ['source=&destination=db', "required query parameter 'source' not set"],
    ['source=web', "required query parameter 'destination' not set"],
    [
      'source=we*&destination=db',
      `source: service name "we*": wildcard character '*' cannot be used with partial values`,
    ],
    [
      'source=web&destination=d%0Ab',
      'destination: service name "d\\nb": want 1 to 253 characters, none of them a control character',
    ],
    [
      'source=web&destination=db&source-peer=*',
      "source-peer: * is not a valid peer name: a valid peering name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long",
    ],
    [
      'source=web&destination=db&source-peer=east&source-partition=default',
      "source-peer and source-partition: want at most one, a peer's partitions are its own",
    ],
    ['source=web&destination=db&source-partition=nowhere', 'partition "nowhere" does not exist'],
    ['source=web&destination=db&partition=nowhere', 'partition "nowhere" does not exist'],
  ] as const) {
    test(`returns 400 for ${query} [SVC-90]`, async () => {
      assert.deepEqual(statusAndText(await check(api(), query)), [400, text]);
    });
  }

  test('wakes on the entries of the destination and of * only [SVC-2]', async () => {
    await mustWrite(api(), intentionEntry('waited', ['deny web']));
    const first = await check(api(), 'source=web&destination=waited');
    const path = `/v1/connect/intentions/check?source=web&destination=waited&index=${indexOfAnswer(first)}`;
    const { answer } = await api().startBlockingQuery(path);
    await mustWrite(api(), intentionEntry('elsewhere', ['deny web']));
    assert.equal(api().reads.waitingCount, 1);
    await mustWrite(api(), intentionEntry('waited', ['allow web']));
    assert.equal((await answer).json<Checked>().Allowed, true);
    const { answer: byWildcard } = await api().startBlockingQuery(
      path.replace(/index=\d+/, `index=${indexOfAnswer(await answer)}`),
    );
    await mustWrite(api(), intentionEntry('*', ['deny *']));
    assert.equal((await byWildcard).json<Checked>().Allowed, true);
  });

  test('returns 403 without config:read on the destination', async () => {
    const { SecretID: some } = await api().makeToken(['config:read@default=db']);
    assert.equal((await check(api(), 'source=web&destination=DB', some)).status, 200);
    const denied = await check(api(), 'source=db&destination=web', some);
    assert.equal(denied.status, 403);
    assert.match(denied.text, /lacks permission 'config:read'$/);
  });
});

describe('a check in the community edition', () => {
  const api = sharedApi({ edition: 'community' });

  test('returns 400 for a source-partition other than default', async () => {
    const text = 'Invalid query parameter: "source-partition" - Partitions are an Accord Enterprise feature';
    assert.deepEqual(statusAndText(await check(api(), 'source=web&destination=db&source-partition=eu')), [400, text]);
    assert.equal((await check(api(), 'source=web&destination=db&source-partition=Default')).status, 200);
  });
});
