import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustGet } from '../../../../test/support/peering/catalog-requests.ts';
import { intentionEntry, mustWrite } from '../../../../test/support/peering/config-entry-requests.ts';
import { indexOfAnswer, statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi } from '../../../../test/support/process/api.ts';
import type { IntentionJson } from './intention-to-json.ts';

const match = (api: Api, query: string, token?: string | null) =>
  api.request('GET', `/v1/connect/intentions/match?${query}`, token === undefined ? {} : { token });

type Matches = Readonly<Record<string, readonly IntentionJson[]>>;

/** Formats rules as `source > destination precedence`. */
const formatted = (matches: Matches): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(matches).map(([name, rules]) => [
      name,
      rules.map(
        ({ SourceName, SourcePeer = '', DestinationName, Precedence }) =>
          `${SourceName}${SourcePeer} > ${DestinationName} ${Precedence}`,
      ),
    ]),
  );

describe('a match', () => {
  const api = sharedApi();
  const matched = async (query: string): Promise<Readonly<Record<string, readonly string[]>>> =>
    formatted(await mustGet<Matches>(api(), `/v1/connect/intentions/match?${query}`));

  test('by destination returns its rules and the rules of `*`, highest precedence first [SVC-91]', async () => {
    await mustWrite(api(), intentionEntry('db', ['deny *', 'allow web', 'allow web@East']));
    await mustWrite(api(), intentionEntry('api', ['allow web']));
    await mustWrite(api(), intentionEntry('*', ['deny *', 'allow web']));
    assert.deepEqual(await matched('by=destination&name=db&name=Api'), {
      db: ['web > db 9', 'webEast > db 9', '* > db 8', 'web > * 6', '* > * 5'],
      Api: ['web > api 9', 'web > * 6', '* > * 5'],
    });
    assert.deepEqual(await matched('by=destination&name=*'), { '*': ['web > * 6', '* > * 5'] });
  });

  test('by source returns the rules that match it for any destination [SVC-91]', async () => {
    assert.deepEqual(await matched('by=source&name=web'), {
      web: ['web > api 9', 'web > db 9', '* > db 8', 'web > * 6', '* > * 5'],
    });
    assert.deepEqual(await matched('by=source&name=web&source-peer=east'), { web: ['webEast > db 9'] });
    assert.deepEqual(await matched('by=source&name=other'), { other: ['* > db 8', '* > * 5'] });
    assert.deepEqual(await matched('by=source&name=web&source-partition=default'), await matched('by=source&name=web'));
  });

  for (const [query, text] of [
    ['name=db', "required query parameter 'by' not set"],
    ['by=name&name=db', "'by' parameter must be one of 'source' or 'destination'"],
    ['by=source', "required query parameter 'name' not set"],
    ['by=source&name=', "required query parameter 'name' not set"],
    ['by=source&name=x*', `name: service name "x*": wildcard character '*' cannot be used with partial values`],
    [`by=source&${Array.from({ length: 65 }, (_, i) => `name=n${i}`).join('&')}`, '65 names: want at most 64'],
  ] as const) {
    test(`returns 400 for ${query.slice(0, 40)} [SVC-91]`, async () => {
      assert.deepEqual(statusAndText(await match(api(), query)), [400, text]);
    });
  }

  test('by destination returns 403 without the grant for each; by source omits rules without the grant [SVC-92]', async () => {
    const { SecretID: some } = await api().makeToken(['config:read@default=db,x']);
    const allowed = await match(api(), 'by=destination&name=db', some);
    assert.equal(formatted(allowed.json<Matches>())['db']?.length, 5);
    assert.equal((await match(api(), 'by=destination&name=db&name=api', some)).status, 403);
    const filtered = await match(api(), 'by=source&name=web', some);
    assert.deepEqual(formatted(filtered.json<Matches>()), { web: ['web > db 9', '* > db 8'] });
    assert.equal(filtered.headers['x-service-results-filtered-by-acls'], 'true');
    const { SecretID: none } = await api().makeToken(['services:write@*']);
    assert.equal((await match(api(), 'by=source&name=web', none)).status, 403);
  });

  test('by source wakes on a new entry [SVC-2]', async () => {
    const first = await match(api(), 'by=source&name=late');
    const { answer } = await api().startBlockingQuery(
      `/v1/connect/intentions/match?by=source&name=late&index=${indexOfAnswer(first)}`,
    );
    await mustWrite(api(), intentionEntry('mail', ['allow late']));
    assert.deepEqual(formatted((await answer).json<Matches>())['late']?.[0], 'late > mail 9');
  });
});
