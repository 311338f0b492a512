/** Tests every operation on entries with and without the required grant ([SVC-1], [SVC-3]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../../test/support/peering/catalog-requests.ts';
import { exportEntry, intentionEntry, mustWrite } from '../../../../test/support/peering/config-entry-requests.ts';
import { sharedApi } from '../../../../test/support/process/api.ts';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly body?: Fields;
  readonly access: 'read' | 'write';
}

const intentions = intentionEntry('Db-1', ['allow web'], { Partition: 'eu' });
const exports = exportEntry({ web: ['east'] }, { Name: 'Eu' });

/** The operations on one entry. */
const operations = (name: string, body: Fields, path: string): Readonly<Record<string, Operation>> => ({
  [`write ${name}`]: { method: 'PUT', path: '/v1/config', body, access: 'write' },
  [`preview ${name}`]: { method: 'POST', path: '/v1/config/preview', body, access: 'write' },
  [`read ${name}`]: { method: 'GET', path, access: 'read' },
  [`delete ${name}`]: { method: 'DELETE', path, access: 'write' },
});
const ofIntentions: Readonly<Record<string, Operation>> = {
  ...operations('the intentions', intentions, '/v1/config/service-intentions/DB-1?partition=eu'),
  'check a call': {
    method: 'GET',
    path: '/v1/connect/intentions/check?source=web&destination=db-1&partition=eu',
    access: 'read',
  },
  'match the destination': {
    method: 'GET',
    path: '/v1/connect/intentions/match?by=destination&name=dB-1&partition=EU',
    access: 'read',
  },
};
const ofExports: Readonly<Record<string, Operation>> = {
  ...operations('the exports', exports, '/v1/config/exported-services/EU'),
  'list the exported services': { method: 'GET', path: '/v1/exported-services?partition=eu', access: 'read' },
};

type Rights = 'write' | 'read' | 'none';

/** Grants, with the access that each gives to the intentions for `Db-1` and to the exports, both in `eu`. */
const grants: readonly (readonly [grant: string, onIntentions: Rights, onExports: Rights])[] = [
  ['config:write@*', 'write', 'write'],
  ['config:write@EU', 'write', 'write'],
  ['config:read@eu', 'read', 'read'],
  ['config:write@eu=db-1', 'write', 'none'],
  ['config:write@eu=DB-*', 'write', 'none'],
  ['config:read@eu=x,dB-1', 'read', 'none'],
  ['config:write@eu=eU', 'none', 'write'],
  ['config:read@*=eu', 'none', 'read'],
  ['config:write@eu=db', 'none', 'none'],
  ['config:write@us', 'none', 'none'],
  ['config:write@us=db-1,eu', 'none', 'none'],
  ['services:write@*', 'none', 'none'],
  ['peering:write@*', 'none', 'none'],
  ['operator:write@*', 'none', 'none'],
];

describe('the grant', () => {
  const api = sharedApi();

  for (const [grant, onIntentions, onExports] of grants) {
    for (const [rights, operationsOf] of [
      [onIntentions, ofIntentions],
      [onExports, ofExports],
    ] as const) {
      for (const [what, { method, path, body, access }] of Object.entries(operationsOf)) {
        const allowed = rights === 'write' || rights === access;
        test(`${grant} ${allowed ? 'permits' : 'does not permit'}: ${what}`, async () => {
          await api().makePartitions('eu', 'us');
          await mustWrite(api(), intentions);
          await mustWrite(api(), exports);
          const { SecretID: token, AccessorID } = await api().makeToken([grant], { Partition: 'us' });
          const { snapshot } = api().state;
          const answer = await api().request(method, path, { body, token });
          if (allowed) {
            assert.equal(answer.status, 200, answer.text);
            return;
          }
          const text = `Permission denied: token with AccessorID '${AccessorID}' lacks permission 'config:${access}'`;
          assert.deepEqual([answer.status, answer.text], [403, text]);
          assert.equal(api().state.snapshot, snapshot);
        });
      }
    }
  }
});
