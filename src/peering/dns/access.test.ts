import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { imported, importFrom, registered } from '../../../test/support/peering/catalog.ts';
import { ask, startTestDns, type TestDns } from '../../../test/support/peering/dns.ts';
import { generated } from '../../../test/support/peering/peering.ts';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { rcodes } from './rcodes.ts';

const { NOERROR, NXDOMAIN, SERVFAIL } = rcodes;

/** Every kind of name that shows something. */
const NAMES = [
  ...['web.service.accord', '_web._tcp.service.accord', 'v1.web.service.accord', 'n1.node.accord'],
  ...['web.service.east.peer.accord', 'far.node.east.peer.accord'],
];

const outcomes = async ({ port }: TestDns, names: readonly string[]): Promise<number[]> => {
  const given: number[] = [];
  for (const name of names) given.push((await ask(port, name, 'ANY')).rcode);
  return given;
};

describe('who asks over DNS', () => {
  const api = sharedApi();
  before(async () => {
    await registered(api(), { Service: { Service: 'web', Tags: ['v1'] } });
    await registered(api(), { Node: 'n2', Service: { Service: 'db' } });
    await generated(api(), 'east');
    await importFrom(api(), 'east', 'web', [imported('web', 'far')]);
  });

  test('finds nothing with the anonymous token, which may nothing', async () => {
    await using dns = await startTestDns(api(), { token: null });
    assert.deepEqual(
      await outcomes(dns, NAMES),
      NAMES.map(() => NXDOMAIN),
    );
  });

  test('finds with a token what it may read: names, and nodes with something of that on them', async () => {
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

  test('is in the partition of the token', async () => {
    await api().makePartitions('eu');
    await registered(api(), { Node: 'e1', Address: '10.5.0.1', Partition: 'eu' });
    const { SecretID } = await api().makeToken(['services:read@eu'], { Partition: 'eu' });
    await using dns = await startTestDns(api(), { token: SecretID });
    assert.deepEqual((await ask(dns.port, 'web.service.accord', 'A')).answers, ['web.service.accord A 10.5.0.1']);
    assert.deepEqual(await outcomes(dns, ['n1.node.accord']), [NXDOMAIN]);
  });

  test('is told of a failure when the token is gone, not that nothing exists; the log says so once', async () => {
    const { SecretID, AccessorID } = await api().makeToken(['services:read']);
    await using dns = await startTestDns(api(), { token: SecretID });
    assert.deepEqual(await outcomes(dns, ['web.service.accord']), [NOERROR]);
    assert.equal((await api().request('DELETE', `/v1/acl/token/${AccessorID}`)).status, 200);
    assert.deepEqual(await outcomes(dns, ['web.service.accord', 'n1.node.accord']), [SERVFAIL, SERVFAIL]);
    assert.equal(dns.log().match(/questions over DNS cannot be answered/g)?.length, 1);
    assert.ok(!dns.log().includes(SecretID));
  });
});

test('who asks over DNS finds everything where the default policy allows it', async () => {
  await using api = await startApi({ policy: { defaultPolicy: 'allow' } });
  await registered(api);
  await using dns = await startTestDns(api, { token: null });
  assert.deepEqual(await outcomes(dns, ['web.service.accord', 'n1.node.accord']), [NOERROR, NOERROR]);
});
