import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { imported, importFrom } from '../../../test/support/peering/catalog.ts';
import { ask, startTestDns, type TestDns } from '../../../test/support/peering/dns.ts';
import { generated } from '../../../test/support/peering/peering.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import type { Instance } from '../catalog/tables/instance.ts';
import { TCP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MIN } from './limits.ts';

/** Instances each at an address of its own. */
const instances = (service: string, count: number): Instance[] =>
  Array.from({ length: count }, (_, i) => {
    const instance = imported(service, `n${i}`);
    return { ...instance, node: { ...instance.node, address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` } };
  });

describe('answers that are too long', () => {
  const api = sharedApi();
  let dns: TestDns;
  before(async () => {
    await generated(api(), 'east');
    for (const [service, count] of [
      ['few', 5],
      ['many', 100],
      ['crowd', 4_000],
    ] as const) {
      await importFrom(api(), 'east', service, instances(service, count));
    }
    dns = await startTestDns(api());
  });
  after(() => dns[Symbol.asyncDispose]());
  const name = (service: string): string => `${service}.service.east.peer.accord`;

  test('are cut over UDP at what the asker takes, and say so', async () => {
    const sizes: [takes: number | undefined, bytesMax: number][] = [
      [undefined, UDP_ANSWER_BYTES_MIN],
      [100, UDP_ANSWER_BYTES_MIN],
      [512, 512],
      [700, 700],
      [1_232, 1_232],
      [65_535, UDP_ANSWER_BYTES_MAX],
    ];
    for (const [takes, bytesMax] of sizes) {
      for (const type of ['A', 'SRV']) {
        const { bytes, isCut, answers, packet } = await ask(dns.port, name('many'), type, {
          ...(takes !== undefined && { takes }),
        });
        const record = bytes / answers.length;
        assert.ok(isCut && bytes <= bytesMax && bytes + record > bytesMax, `${type} ${takes}: ${bytes} bytes`);
        const edns = packet.additionals?.filter((additional) => additional.type === 'OPT') ?? [];
        assert.deepEqual(
          edns.map(({ udpPayloadSize }) => udpPayloadSize),
          takes === undefined ? [] : [UDP_ANSWER_BYTES_MAX],
        );
      }
    }
  });

  test('are whole over TCP, with the addresses of all targets', async () => {
    const { isCut, answers, additionals } = await ask(dns.port, name('many'), 'SRV', { over: 'tcp' });
    assert.deepEqual([isCut, new Set(answers).size, new Set(additionals).size], [false, 100, 100]);
  });

  test('are cut over TCP too at what its length can say, each time to others', async () => {
    const first = await ask(dns.port, name('crowd'), 'A', { over: 'tcp' });
    const second = await ask(dns.port, name('crowd'), 'A', { over: 'tcp' });
    assert.ok(first.isCut && first.bytes <= TCP_ANSWER_BYTES_MAX && first.answers.length > 1_000);
    assert.notDeepEqual(new Set(first.answers), new Set(second.answers));
  });

  test('lose first what only saves a further question, and are not incomplete without it', async () => {
    const { isCut, answers, additionals, bytes } = await ask(dns.port, name('few'), 'SRV');
    assert.deepEqual([isCut, answers.length], [false, 5]);
    assert.ok(additionals.length < 5 && bytes <= UDP_ANSWER_BYTES_MIN);
  });
});
