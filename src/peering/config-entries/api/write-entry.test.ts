import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustGet } from '../../../../test/support/peering/catalog-requests.ts';
import {
  exportEntry,
  intentionEntry,
  mustWrite,
  requestWrite,
  warningOf,
} from '../../../../test/support/peering/config-entry-requests.ts';
import { indexOfAnswer, mustGenerate, statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../../test/support/process/api.ts';
import type { Answer, RequestOptions } from '../../../../test/support/process/server.ts';
import type { EntryJson } from '../entry-to-json.ts';

const read = (api: Api, at: string, options?: RequestOptions): Promise<Answer> =>
  api.request('GET', `/v1/config/${at}`, options);
const remove = (api: Api, at: string, options?: RequestOptions): Promise<Answer> =>
  api.request('DELETE', `/v1/config/${at}`, options);
const shown = (api: Api, at: string): Promise<EntryJson> => mustGet<EntryJson>(api, `/v1/config/${at}`);

describe('a written entry', () => {
  const api = sharedApi();

  test('is returned as written, with its indexes [SVC-63]', async () => {
    await api().makePartitions('Eu');
    await mustWrite(api(), exportEntry({ web: ['East', 'partition:eu'], '*': ['west'] }, { Meta: { team: 'a' } }));
    const made = api().state.snapshot.index;
    assert.deepEqual(await shown(api(), 'exported-services/default'), {
      Kind: 'exported-services',
      Name: 'default',
      Partition: 'default',
      Services: [
        { Name: 'web', Consumers: [{ Peer: 'East' }, { Partition: 'eu' }] },
        { Name: '*', Consumers: [{ Peer: 'west' }] },
      ],
      Meta: { team: 'a' },
      CreateIndex: made,
      ModifyIndex: made,
    });
    const source = { Name: 'web', Action: 'allow', Description: 'reports' };
    await mustWrite(api(), intentionEntry('DB', ['deny *@East', 'deny */eu'], { Partition: 'eu', Sources: [source] }));
    await mustWrite(api(), intentionEntry('db', ['deny *@East', 'deny */eu'], { Partition: 'EU' }));
    assert.deepEqual(await shown(api(), 'service-intentions/Db?partition=eu'), {
      Kind: 'service-intentions',
      Name: 'DB',
      Partition: 'Eu',
      Sources: [
        { Name: '*', Peer: 'East', Action: 'deny', Precedence: 8, Type: 'consul' },
        { Name: '*', Partition: 'eu', Action: 'deny', Precedence: 8, Type: 'consul' },
      ],
      CreateIndex: made + 1,
      ModifyIndex: made + 2,
    });
  });

  test('writes nothing when the stored entry is equivalent [SVC-64]', async () => {
    const entry = intentionEntry('same', ['allow web'], { Meta: { a: '1', b: '2' } });
    await mustWrite(api(), entry);
    const { index } = api().state.snapshot;
    await mustWrite(api(), { ...entry, Meta: { b: '2', a: '1' } });
    assert.equal(api().state.snapshot.index, index);
    await mustWrite(api(), { ...entry, Meta: { b: '2' } });
    assert.equal(api().state.snapshot.index, index + 1);
  });

  test('belongs to its partition, so that equal names elsewhere are different entries [SVC-61]', async () => {
    await mustWrite(api(), intentionEntry('mine', ['allow web']));
    assert.equal((await read(api(), 'service-intentions/mine?partition=eu')).status, 404);
    await mustWrite(api(), intentionEntry('mine', ['deny web']), '?partition=eu');
    assert.equal((await remove(api(), 'service-intentions/mine?partition=eu')).text, 'true');
    assert.equal((await read(api(), 'service-intentions/mine')).status, 200);
  });

  test('is found by the name of its partition if it is an exported-services entry [SVC-71]', async () => {
    await mustWrite(api(), exportEntry({ web: ['east'] }, { Name: 'EU' }));
    assert.equal((await shown(api(), 'exported-services/eu')).Name, 'Eu');
    assert.equal((await shown(api(), 'exported-services/Eu?partition=eU')).Name, 'Eu');
    const answer = await read(api(), 'exported-services/eu?partition=default');
    assert.deepEqual(statusAndText(answer), [400, 'the request names two partitions, "default" and "eu": want one']);
    assert.equal((await remove(api(), 'exported-services/eu')).text, 'true');
    assert.equal((await read(api(), 'exported-services/eu')).status, 404);
    assert.equal((await read(api(), 'exported-services/default')).status, 200);
  });

  test('is recorded in the audit log at creation, update and deletion', async () => {
    await mustWrite(api(), intentionEntry('Audited', ['allow web']));
    await mustWrite(api(), intentionEntry('audited', ['deny web']));
    assert.equal((await remove(api(), 'service-intentions/audited')).text, 'true');
    const entries = await mustGet<Record<string, unknown>[]>(api(), '/v1/audit?limit=3&partition=default');
    const facts = entries.toReversed().map(({ Action, Type, Subject, Before, After }) => {
      const action = (entry: unknown) => (entry as EntryJson & { Sources: { Action: string }[] })?.Sources[0]?.Action;
      return [Action, Type, Subject, action(Before), action(After)];
    });
    const subject = 'service-intentions/Audited';
    assert.deepEqual(facts, [
      ['create', 'config-entry', subject, undefined, 'allow'],
      ['update', 'config-entry', subject, 'allow', 'deny'],
      ['delete', 'config-entry', subject, 'deny', undefined],
    ]);
  });
});

describe('cas [SVC-65]', () => {
  const api = sharedApi();
  const at = 'service-intentions/db';
  const tried = async (action: string, cas: string | number): Promise<string> => {
    const { status, text } = await requestWrite(api(), intentionEntry('db', [`${action} web`]), `?cas=${cas}`);
    assert.equal(status, 200, text);
    return text;
  };

  test('with 0 creates an entry only if it is missing', async () => {
    assert.equal(await tried('allow', 1), 'false');
    assert.equal((await read(api(), at)).status, 404);
    assert.equal(await tried('allow', 0), 'true');
    const { snapshot } = api().state;
    assert.equal(await tried('deny', 0), 'false');
    assert.equal(api().state.snapshot, snapshot);
  });

  test('replaces the entry only with its ModifyIndex', async () => {
    const { ModifyIndex } = await shown(api(), at);
    assert.equal(await tried('deny', ModifyIndex - 1), 'false');
    assert.equal(await tried('deny', ModifyIndex), 'true');
    assert.equal(await tried('allow', ModifyIndex), 'false');
    assert.equal(await tried('deny', ModifyIndex), 'false');
    const entry = await shown(api(), at);
    assert.ok(entry.Kind === 'service-intentions' && entry.Sources[0]?.Action === 'deny');
  });

  test('makes a deletion conditional [SVC-67]', async () => {
    const { ModifyIndex } = await shown(api(), at);
    assert.equal((await remove(api(), `${at}?cas=${ModifyIndex + 1}`)).text, 'false');
    assert.equal((await remove(api(), `${at}?cas=0`)).text, 'false');
    assert.equal((await remove(api(), `${at}?cas=${ModifyIndex}`)).text, 'true');
    assert.equal((await remove(api(), `${at}?cas=${ModifyIndex}`)).text, 'false');
    assert.equal((await remove(api(), `${at}?cas=0`)).text, 'true');
    assert.equal((await remove(api(), at)).text, 'true');
  });

  for (const cas of ['', 'x', '-1', '1.5', '12345678901234567']) {
    test(`returns 400 for "${cas}"`, async () => {
      const text = `Invalid cas "${cas}": want the ModifyIndex of the entry, or 0 for none`;
      assert.deepEqual(statusAndText(await requestWrite(api(), intentionEntry('db', ['allow web']), `?cas=${cas}`)), [
        400,
        text,
      ]);
      assert.deepEqual(statusAndText(await remove(api(), `${at}?cas=${cas}`)), [400, text]);
    });
  }
});

describe('X-Service-Warning [SVC-68]', () => {
  test('names the missing peers until they exist', async () => {
    await using api = await startApi();
    const entry = exportEntry({ web: ['west', 'East'], db: ['eAST'] });
    assert.equal(warningOf(await mustWrite(api, entry)), 'peers "East", "west" do not exist yet');
    await mustGenerate(api, 'EAST');
    assert.equal(warningOf(await mustWrite(api, entry)), 'peer "west" does not exist yet');
    await mustGenerate(api, 'west');
    assert.equal(warningOf(await mustWrite(api, entry)), undefined);
  });

  test('names no peer that the caller may not read [SVC-114]', async () => {
    await using api = await startApi();
    const { SecretID: token } = await api.makeToken(['config:write', 'peering:read@default=west']);
    const answer = await api.request('PUT', '/v1/config', { body: exportEntry({ web: ['west', 'east'] }), token });
    assert.deepEqual([answer.status, warningOf(answer)], [200, 'peer "west" does not exist yet']);
  });

  test('considers the peers in the partition of the entry', async () => {
    await using api = await startApi({ consul: true });
    await api.makePartitions('eu');
    await mustGenerate(api, 'east', { Partition: 'eu' });
    const answer = await mustWrite(api, exportEntry({ web: ['east'] }));
    assert.equal(answer.headers['x-consul-warning'], 'peer "east" does not exist yet');
    assert.equal(warningOf(await mustWrite(api, exportEntry({ web: ['east'] }, { Name: 'eu' }))), undefined);
  });

  test('names at most WARNED_PEERS_MAX peers', async () => {
    await using api = await startApi();
    const peers = Array.from({ length: 10 }, (_, i) => `p${i}`);
    const warning = warningOf(await mustWrite(api, exportEntry({ '*': peers })));
    assert.equal(warning, 'peers "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 2 more do not exist yet');
  });
});

describe('reading entries', () => {
  const api = sharedApi();
  const names = (answer: Answer): string[] => {
    assert.equal(answer.status, 200, answer.text);
    return answer.json<EntryJson[]>().map(({ Name, Partition }) => `${Name}@${Partition}`);
  };

  test('lists the entries of a kind in one partition, or with * in all', async () => {
    await api().makePartitions('eu', 'us');
    assert.equal((await read(api(), 'service-intentions')).text, '[]');
    for (const name of ['b', 'C', '*', 'a']) await mustWrite(api(), intentionEntry(name, ['allow web']));
    await mustWrite(api(), intentionEntry('d', ['allow web']), '?partition=eu');
    await mustWrite(api(), exportEntry({}, { Name: 'eu' }));
    assert.deepEqual(
      names(await read(api(), 'service-intentions')),
      ['*', 'a', 'b', 'C'].map((one) => `${one}@default`),
    );
    assert.deepEqual(names(await read(api(), 'service-intentions?partition=eu')), ['d@eu']);
    assert.deepEqual(names(await read(api(), 'exported-services?partition=*')), ['eu@eu']);
    assert.equal(names(await read(api(), 'service-intentions?partition=*')).length, 5);
  });

  test('omits entries that the grant does not name', async () => {
    const { SecretID: token } = await api().makeToken(['config:read@default=a*,c', 'config:read@us']);
    const some = await read(api(), 'service-intentions', { token });
    assert.deepEqual(names(some), ['a@default', 'C@default']);
    assert.equal(some.headers['x-service-results-filtered-by-acls'], 'true');
    assert.deepEqual(names(await read(api(), 'service-intentions?partition=*', { token })), ['a@default', 'C@default']);
    assert.equal((await read(api(), 'service-intentions?partition=eu', { token })).status, 403);
    assert.equal((await read(api(), 'service-intentions/b', { token })).status, 403);
    assert.equal((await read(api(), 'service-intentions/nobody', { token })).status, 403);
    assert.equal((await read(api(), 'service-intentions/c', { token })).status, 200);
    const { SecretID: none } = await api().makeToken(['services:write@*', 'peering:write@*']);
    assert.equal((await read(api(), 'service-intentions', { token: none })).status, 403);
  });

  test('wakes when a missing entry is created and when it is deleted [SVC-2] [SVC-67]', async () => {
    const first = await read(api(), 'service-intentions/late');
    assert.deepEqual(statusAndText(first), [404, 'Config entry not found for "service-intentions" / "late"']);
    const { answer } = await api().startBlockingQuery(
      `/v1/config/service-intentions/late?index=${indexOfAnswer(first)}`,
    );
    await mustWrite(api(), intentionEntry('other', ['allow web']));
    assert.equal(api().reads.waitingCount, 1);
    await mustWrite(api(), intentionEntry('Late', ['allow web']));
    assert.equal((await answer).status, 200);
    const held = await api().startBlockingQuery(
      `/v1/config/service-intentions/late?index=${indexOfAnswer(await answer)}`,
    );
    assert.equal((await remove(api(), 'service-intentions/late')).text, 'true');
    assert.equal((await held.answer).status, 404);
  });

  test('wakes a list when an entry of the kind and partition changes [SVC-2]', async () => {
    const first = await read(api(), 'service-intentions');
    const { answer } = await api().startBlockingQuery(`/v1/config/service-intentions?index=${indexOfAnswer(first)}`);
    await mustWrite(api(), exportEntry({ web: ['east'] }));
    await mustWrite(api(), intentionEntry('e', ['allow web']), '?partition=eu');
    assert.equal(api().reads.waitingCount, 1);
    await mustWrite(api(), intentionEntry('new', ['allow web']));
    assert.ok(names(await answer).includes('new@default'));
  });

  test('returns 400 for an unknown kind', async () => {
    const text = 'Kind: want "exported-services" or "service-intentions", got "mesh"';
    assert.deepEqual(statusAndText(await read(api(), 'mesh')), [400, text]);
    assert.deepEqual(statusAndText(await read(api(), 'mesh/mesh')), [400, text]);
    assert.deepEqual(statusAndText(await remove(api(), 'mesh/mesh')), [400, text]);
  });
});

describe('deleting a partition', () => {
  test('returns 409 while an entry is in the partition or names it', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    const deleted = async (): Promise<readonly [number, string]> =>
      statusAndText(await api.request('DELETE', '/v1/partition/EU'));
    const refusal = (by: string): readonly [number, string] => [409, `partition "eu" is still named by ${by}`];
    await mustWrite(api, intentionEntry('db', ['allow web']), '?partition=eu');
    assert.deepEqual(await deleted(), refusal('the configuration entry service-intentions "db"'));
    await remove(api, 'service-intentions/db?partition=eu');
    await mustWrite(api, exportEntry({ web: ['east', 'partition:Eu'] }));
    assert.deepEqual(
      await deleted(),
      refusal('the configuration entry exported-services "default" in partition "default"'),
    );
    await remove(api, 'exported-services/default');
    await mustWrite(api, intentionEntry('db', ['allow web/EU']), '?partition=us');
    assert.deepEqual(await deleted(), refusal('the configuration entry service-intentions "db" in partition "us"'));
    await remove(api, 'service-intentions/db?partition=us');
    assert.deepEqual(await deleted(), [200, '']);
  });

  test('is unaffected by a deleted and recreated entry', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    await mustWrite(api, exportEntry({ web: ['east'] }, { Name: 'eu' }));
    await remove(api, 'exported-services/eu');
    await mustWrite(api, exportEntry({ db: ['east'] }, { Name: 'eu' }));
    const entry = await shown(api, 'exported-services/eu');
    assert.equal(entry.CreateIndex, entry.ModifyIndex);
  });
});

test('each caller has one large request at a time [SRV-126]', async () => {
  await using api = await startApi();
  const sources = Array.from({ length: 2_000 }, (_, i) => ({ Name: `service-${i}`, Action: 'allow' }));
  const large = (name: string) => requestWrite(api, { Kind: 'service-intentions', Name: name, Sources: sources });
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(large));
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0 && refused.length < answers.length);
  assert.match(refused[0]?.text ?? '', /another large request of the same caller is running/);
  assert.equal(refused[0]?.headers['retry-after'], '1');
  assert.equal((await large('g')).status, 200);
  assert.equal(((await shown(api, 'service-intentions/g')) as { Sources: unknown[] }).Sources.length, sources.length);
  // Small ones are not limited.
  const small = (name: string) => requestWrite(api, intentionEntry(name, ['allow web']));
  const statuses = (await Promise.all(['a', 'b', 'c', 'd'].map(small))).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 200]);
});
