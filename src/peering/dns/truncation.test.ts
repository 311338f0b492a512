import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { importedInstance, importFrom } from '../../../test/support/peering/catalog-requests.ts';
import { query, startTestDns, type TestDns } from '../../../test/support/peering/dns.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import type { Instance } from '../catalog/tables/instance.ts';
import { TCP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MIN } from './limits.ts';

/** Instances with distinct addresses. */
const instances = (service: string, count: number): Instance[] =>
  Array.from({ length: count }, (_, i) => {
    const instance = importedInstance(service, `n${i}`);
    return { ...instance, node: { ...instance.node, address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` } };
  });

describe('answers that exceed the size limit', () => {
  const api = sharedApi();
  let dns: TestDns;
  before(async () => {
    await mustGenerate(api(), 'east');
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

  test('are truncated over UDP at the size of the client, with the TC flag [SVC-107]', async () => {
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
        const {
          bytes,
          isTruncated: isCut,
          answers,
          packet,
        } = await query(dns.port, name('many'), type, {
          ...(takes !== undefined && { udpPayloadSize: takes }),
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

  test('are complete over TCP, with the addresses of all targets', async () => {
    const { isTruncated: isCut, answers, additionals } = await query(dns.port, name('many'), 'SRV', { over: 'tcp' });
    assert.deepEqual([isCut, new Set(answers).size, new Set(additionals).size], [false, 100, 100]);
  });

  test('are truncated over TCP at 65,535 bytes, each time to other records [SVC-107]', async () => {
    const first = await query(dns.port, name('crowd'), 'A', { over: 'tcp' });
    const second = await query(dns.port, name('crowd'), 'A', { over: 'tcp' });
    assert.ok(first.isTruncated && first.bytes <= TCP_ANSWER_BYTES_MAX && first.answers.length > 1_000);
    assert.notDeepEqual(new Set(first.answers), new Set(second.answers));
  });

  test('omit additional records first, without the TC flag', async () => {
    const { isTruncated: isCut, answers, additionals, bytes } = await query(dns.port, name('few'), 'SRV');
    assert.deepEqual([isCut, answers.length], [false, 5]);
    assert.ok(additionals.length < 5 && bytes <= UDP_ANSWER_BYTES_MIN);
  });
});
