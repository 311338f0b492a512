import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { importedInstance, importFrom, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { query, startTestDns, type TestDns } from '../../../test/support/peering/dns.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { rcodes } from './rcodes.ts';

const { NOERROR, NXDOMAIN, SERVFAIL } = rcodes;

/** One name of each kind. */
const NAMES = [
  ...['web.service.accord', '_web._tcp.service.accord', 'v1.web.service.accord', 'n1.node.accord'],
  ...['web.service.east.peer.accord', 'far.node.east.peer.accord'],
];

const outcomes = async ({ port }: TestDns, names: readonly string[]): Promise<number[]> => {
  const codes: number[] = [];
  for (const name of names) codes.push((await query(port, name, 'ANY')).rcode);
  return codes;
};

describe('a DNS client', () => {
  const api = sharedApi();
  before(async () => {
    await mustRegister(api(), { Service: { Service: 'web', Tags: ['v1'] } });
    await mustRegister(api(), { Node: 'n2', Service: { Service: 'db' } });
    await mustGenerate(api(), 'east');
    await importFrom(api(), 'east', 'web', [importedInstance('web', 'far')]);
  });

  test('gets NXDOMAIN with the anonymous token, which has no grants [SVC-105]', async () => {
    await using dns = await startTestDns(api(), { token: null });
    assert.deepEqual(
      await outcomes(dns, NAMES),
      NAMES.map(() => NXDOMAIN),
    );
  });

  test('resolves the services that the token may read, and the nodes of their instances [SVC-105]', async () => {
    const { SecretID } = await api().makeToken(['services:read=web']);
    await using dns = await startTestDns(api(), { token: SecretID });
    assert.deepEqual(
      await outcomes(dns, NAMES),
      NAMES.map(() => NOERROR),
    );
    assert.deepEqual(await outcomes(dns, ['db.service.accord', 'n2.node.accord']), [NXDOMAIN, NXDOMAIN]);
    const other = await api().makeToken(['peering:write', 'config:write']);
    await using blind = await startTestDns(api(), { token: other.SecretID });
    assert.deepEqual(
      await outcomes(blind, NAMES),
      NAMES.map(() => NXDOMAIN),
    );
  });

  test('resolves names in the partition of the token [SVC-105]', async () => {
    await api().makePartitions('eu');
    await mustRegister(api(), { Node: 'e1', Address: '10.5.0.1', Partition: 'eu' });
    const { SecretID } = await api().makeToken(['services:read@eu'], { Partition: 'eu' });
    await using dns = await startTestDns(api(), { token: SecretID });
    assert.deepEqual((await query(dns.port, 'web.service.accord', 'A')).answers, ['web.service.accord A 10.5.0.1']);
    assert.deepEqual(await outcomes(dns, ['n1.node.accord']), [NXDOMAIN]);
  });

  test('gets SERVFAIL and not NXDOMAIN when the token is deleted, with one log line [SVC-105]', async () => {
    const { SecretID, AccessorID } = await api().makeToken(['services:read']);
    await using dns = await startTestDns(api(), { token: SecretID });
    assert.deepEqual(await outcomes(dns, ['web.service.accord']), [NOERROR]);
    assert.equal((await api().request('DELETE', `/v1/acl/token/${AccessorID}`)).status, 200);
    assert.deepEqual(await outcomes(dns, ['web.service.accord', 'n1.node.accord']), [SERVFAIL, SERVFAIL]);
    assert.equal(dns.log().match(/DNS question failed/g)?.length, 1);
    assert.ok(!dns.log().includes(SecretID));
  });
});

test('resolves all names with a default policy of allow', async () => {
  await using api = await startApi({ policy: { defaultPolicy: 'allow' } });
  await mustRegister(api);
  await using dns = await startTestDns(api, { token: null });
  assert.deepEqual(await outcomes(dns, ['web.service.accord', 'n1.node.accord']), [NOERROR, NOERROR]);
});
