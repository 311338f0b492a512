import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  importedInstance,
  importFrom,
  mustDeregister,
  mustRegister,
} from '../../../test/support/peering/catalog-requests.ts';
import {
  type DnsAnswer,
  type QueryOptions,
  query,
  startTestDns,
  type TestDns,
} from '../../../test/support/peering/dns.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { createRandom } from '../../../test/support/random.ts';
import { rcodes } from './rcodes.ts';

describe('the DNS server', () => {
  const api = sharedApi();
  let dns: TestDns;
  before(async () => {
    dns = await startTestDns(api(), { random: createRandom(7).next });
    await mustRegister(api(), {
      Node: 'n1',
      Address: '10.0.0.1',
      Service: { Service: 'web', Port: 80, Tags: ['v1', 'Blue'], Weights: { Passing: 5, Warning: 2 } },
    });
    await mustRegister(api(), { Node: 'n2', Address: '10.0.0.2', Service: { Service: 'web', Port: 81, Tags: ['v2'] } });
    await mustRegister(api(), {
      Node: 'n6',
      Address: '2001:db8::6',
      Service: { Service: 'six', Port: 6, Address: '2001:DB8:0::7' },
    });
  });
  after(() => dns[Symbol.asyncDispose]());

  const ask = (name: string, type: string, options?: QueryOptions): Promise<DnsAnswer> =>
    query(dns.port, name, type, options);
  const answers = async (name: string, type: string): Promise<readonly string[]> => {
    const { rcode, answers: records } = await ask(name, type);
    assert.equal(rcode, rcodes.NOERROR, `${name} ${type}`);
    return records.toSorted();
  };
  const isMissing = async (name: string, type = 'A'): Promise<void> => {
    const { rcode, answers: records, authorities } = await ask(name, type);
    assert.equal(rcode, rcodes.NXDOMAIN, name);
    assert.deepEqual([records, authorities], [[], ['accord SOA ns.accord hostmaster.accord']], name);
  };
  const isEmpty = async (name: string, type: string): Promise<void> => {
    const { rcode, answers: records, authorities } = await ask(name, type);
    assert.equal(rcode, rcodes.NOERROR, name);
    assert.deepEqual([records, authorities], [[], ['accord SOA ns.accord hostmaster.accord']], name);
  };

  test('returns the addresses of a service over UDP and TCP [SVC-98] [SVC-100]', async () => {
    const expected = ['web.service.accord A 10.0.0.1', 'web.service.accord A 10.0.0.2'];
    assert.deepEqual(await answers('web.service.accord', 'A'), expected);
    const { answers: overTcp, packet } = await ask('web.service.accord', 'A', { over: 'tcp' });
    assert.deepEqual(overTcp.toSorted(), expected);
    assert.deepEqual([packet.flag_aa, packet.flag_ra, packet.flag_tc], [true, false, false]);
    assert.deepEqual(
      packet.answers?.map((record) => 'ttl' in record && record.ttl),
      [0, 0],
    );
  });

  test('selects instances by tag without regard to case [SVC-98]', async () => {
    assert.deepEqual(await answers('v1.web.service.accord', 'A'), ['v1.web.service.accord A 10.0.0.1']);
    assert.deepEqual(await answers('blue.web.service.accord', 'A'), ['blue.web.service.accord A 10.0.0.1']);
    assert.deepEqual(await answers('_web._v2.service.accord', 'SRV'), [
      '_web._v2.service.accord SRV 1 1 81 n2.node.accord',
    ]);
    await isMissing('v3.web.service.accord');
  });

  test('returns SRV records with the addresses of their targets [SVC-98] [SVC-100] [SVC-101]', async () => {
    for (const name of ['_web._tcp.service.accord', 'web.service.accord']) {
      assert.deepEqual(await answers(name, 'SRV'), [
        `${name} SRV 1 1 81 n2.node.accord`,
        `${name} SRV 1 5 80 n1.node.accord`,
      ]);
      const { additionals } = await ask(name, 'SRV', { udpPayloadSize: 1232 });
      assert.deepEqual(additionals.toSorted(), ['n1.node.accord A 10.0.0.1', 'n2.node.accord A 10.0.0.2']);
    }
  });

  test('returns IPv6 addresses, and an addr name for an address other than the node’s [SVC-98] [SVC-101]', async () => {
    const target = '20010db8000000000000000000000007.addr.accord';
    assert.deepEqual(await answers('six.service.accord', 'AAAA'), ['six.service.accord AAAA 2001:db8::7']);
    const { answers: records, additionals } = await ask('six.service.accord', 'SRV');
    assert.deepEqual(records, [`six.service.accord SRV 1 1 6 ${target}`]);
    assert.deepEqual(additionals, [`${target} AAAA 2001:db8::7`]);
    assert.deepEqual(await answers(target, 'AAAA'), [`${target} AAAA 2001:db8::7`]);
    await isEmpty('six.service.accord', 'A');
    await isEmpty(target, 'A');
  });

  test('returns the addresses of nodes [SVC-98]', async () => {
    assert.deepEqual(await answers('n1.node.accord', 'A'), ['n1.node.accord A 10.0.0.1']);
    assert.deepEqual(await answers('N6.node.accord', 'AAAA'), ['N6.node.accord AAAA 2001:db8::6']);
    await isEmpty('n1.node.accord', 'SRV');
    await isMissing('n9.node.accord');
  });

  test('returns CNAME records for host names [SVC-100]', async () => {
    await mustRegister(api(), {
      Node: 'saas',
      Address: 'saas.example.com',
      Service: { Service: 'mail', Port: 25, Address: 'mail.example.com.' },
    });
    assert.deepEqual(await answers('mail.service.accord', 'A'), ['mail.service.accord CNAME mail.example.com']);
    assert.deepEqual(await answers('mail.service.accord', 'CNAME'), ['mail.service.accord CNAME mail.example.com']);
    assert.deepEqual(await answers('saas.node.accord', 'AAAA'), ['saas.node.accord CNAME saas.example.com']);
    const { answers: records, additionals } = await ask('mail.service.accord', 'SRV');
    assert.deepEqual(records, ['mail.service.accord SRV 1 1 25 mail.example.com']);
    assert.deepEqual(additionals, []);
  });

  test('returns at most one CNAME record, and only without addresses [SVC-100]', async () => {
    const at = (Node: string, Address: string) => ({
      Node,
      Address: '10.1.0.1',
      Service: { Service: 'mixed', Address },
    });
    await mustRegister(api(), at('m1', 'one.example.com'));
    await mustRegister(api(), at('m2', 'two.example.com'));
    assert.equal((await answers('mixed.service.accord', 'A')).length, 1);
    await mustRegister(api(), at('m3', '10.1.0.3'));
    assert.deepEqual(await answers('mixed.service.accord', 'A'), ['mixed.service.accord A 10.1.0.3']);
    await isEmpty('mixed.service.accord', 'AAAA');
    await isEmpty('mixed.service.accord', 'CNAME');
    assert.equal((await answers('mixed.service.accord', 'SRV')).length, 3);
  });

  test('returns equal addresses, and equal targets and ports, once', async () => {
    const on = (ID: string, Port: number) => ({
      Node: 'twice',
      Address: '10.2.0.1',
      Service: { ID, Service: 'twice', Port },
    });
    await mustRegister(api(), on('a', 80));
    await mustRegister(api(), on('b', 80));
    await mustRegister(api(), on('c', 81));
    assert.deepEqual(await answers('twice.service.accord', 'A'), ['twice.service.accord A 10.2.0.1']);
    const { answers: records, additionals } = await ask('twice.service.accord', 'SRV');
    assert.deepEqual(records.toSorted(), [
      'twice.service.accord SRV 1 1 80 twice.node.accord',
      'twice.service.accord SRV 1 1 81 twice.node.accord',
    ]);
    assert.deepEqual(additionals, ['twice.node.accord A 10.2.0.1']);
  });

  test('omits failing instances, uses the warning weight, and follows changes immediately [SVC-99] [SVC-100]', async () => {
    const says = (Status: string) =>
      mustRegister(api(), {
        Node: 'checked',
        Address: '10.3.0.1',
        Service: { Service: 'checked', Port: 1, Weights: { Passing: 9, Warning: 3 } },
        Check: { CheckID: 'c', Name: 'c', Status, ServiceID: 'checked' },
      });
    await says('critical');
    await isMissing('checked.service.accord');
    await says('warning');
    assert.deepEqual(await answers('checked.service.accord', 'SRV'), [
      'checked.service.accord SRV 1 3 1 checked.node.accord',
    ]);
    await says('passing');
    assert.deepEqual(await answers('checked.service.accord', 'SRV'), [
      'checked.service.accord SRV 1 9 1 checked.node.accord',
    ]);
    await mustDeregister(api(), { Node: 'checked' });
    await isMissing('checked.service.accord');
    await isMissing('checked.node.accord');
  });

  test('resolves imported services under the name of the peer, separate from local ones [SVC-98]', async () => {
    await mustGenerate(api(), 'East');
    await importFrom(api(), 'East', 'web', [
      importedInstance('web', 'far', 'passing', ['v9']),
      importedInstance('web', 'ill', 'critical'),
    ]);
    assert.deepEqual(await answers('web.service.east.peer.accord', 'A'), ['web.service.east.peer.accord A 10.9.0.1']);
    assert.deepEqual(await answers('v9.web.service.east.peer.accord', 'A'), [
      'v9.web.service.east.peer.accord A 10.9.0.1',
    ]);
    const { answers: records, additionals } = await ask('_web._tcp.service.east.peer.accord', 'SRV');
    assert.deepEqual(records, ['_web._tcp.service.east.peer.accord SRV 1 1 80 far.node.East.peer.accord']);
    assert.deepEqual(additionals, ['far.node.East.peer.accord A 10.9.0.1']);
    assert.deepEqual(await answers('far.node.east.peer.accord', 'A'), ['far.node.east.peer.accord A 10.9.0.1']);
    await isMissing('v1.web.service.east.peer.accord');
    await isMissing('n1.node.east.peer.accord');
    await isMissing('far.node.accord');
    await isMissing('web.service.west.peer.accord');
  });

  test('distinguishes NXDOMAIN from an empty answer [SVC-102]', async () => {
    await isMissing('nothing.service.accord');
    await isMissing('nothing.accord');
    await isEmpty('web.service.accord', 'TXT');
    await isEmpty('accord', 'A');
    for (const name of ['service.accord', 'node.accord', 'peer.accord', '_tcp.service.accord'])
      await isEmpty(name, 'A');
    assert.deepEqual(await answers('accord', 'SOA'), ['accord SOA ns.accord hostmaster.accord']);
  });

  test('refuses names outside its domain, zone transfers and other classes [SVC-103]', async () => {
    for (const [name, type, packet] of [
      ['example.com', 'A', {}],
      ['.', 'NS', {}],
      ['accord', 'AXFR', {}],
      ['accord', 'IXFR', {}],
      ['web.service.accord', 'A', { questions: [{ name: 'web.service.accord', type: 'A', class: 'CH' }] }],
    ] as const) {
      const {
        rcode,
        answers: records,
        authorities,
        packet: whole,
      } = await ask(name, type, { packet: { ...packet } as object });
      assert.equal(rcode, rcodes.REFUSED, `${name} ${type}`);
      assert.deepEqual([records, authorities, whole.flag_aa], [[], [], false]);
    }
  });

  test('answers ANY with a minimal record [SVC-104]', async () => {
    const { rcode, answers: records } = await ask('web.service.accord', 'ANY');
    assert.equal(rcode, rcodes.NOERROR);
    assert.deepEqual(records, ['web.service.accord HINFO {"cpu":"RFC8482","os":""}']);
    await isMissing('nothing.service.accord', 'ANY');
  });

  test('preserves the case of the question and the flags to copy', async () => {
    const { packet, answers: records } = await ask('wEb.SeRvIcE.aCcOrD', 'A', { packet: { flags: 1 << 8 } });
    assert.equal(packet.questions?.[0]?.name, 'wEb.SeRvIcE.aCcOrD');
    assert.ok(records.every((record) => record.startsWith('wEb.SeRvIcE.aCcOrD A ')));
    assert.deepEqual([packet.id, packet.flag_rd, packet.type], [4711, true, 'response']);
  });

  test('returns instances in random order [SVC-99]', async () => {
    const orders = new Set<string>();
    for (let i = 0; i < 64 && orders.size < 2; i++) orders.add((await ask('web.service.accord', 'A')).answers.join());
    assert.equal(orders.size, 2);
  });
});

describe('the DNS settings', () => {
  const api = sharedApi();

  test('dns.ttl applies to positive and negative answers [SVC-97]', async () => {
    await mustRegister(api());
    await using dns = await startTestDns(api(), { ttlSeconds: 30, domain: 'Corp.Example' });
    const found = await query(dns.port, 'web.service.corp.example', 'A');
    const missing = await query(dns.port, 'none.service.corp.example', 'A');
    for (const record of [...(found.packet.answers ?? []), ...(missing.packet.authorities ?? [])]) {
      assert.equal('ttl' in record && record.ttl, 30);
      if (record.type === 'SOA') assert.equal(record.data.minimum, 30);
    }
    assert.deepEqual([found.answers.length, missing.authorities.length], [1, 1]);
    assert.equal((await query(dns.port, 'web.service.accord', 'A')).rcode, rcodes.REFUSED);
  });

  test('dns.address accepts an address or a name, and a port in use is an error', async () => {
    await using named = await startTestDns(api(), { listen: { host: 'localhost', port: 0 } });
    assert.match(named.address, /^(127\.0\.0\.1|\[::1\]):\d+$/);
    await using taken = await startTestDns(api());
    await assert.rejects(startTestDns(api(), { listen: { host: '127.0.0.1', port: taken.port } }), {
      code: 'EADDRINUSE',
    });
  });
});
