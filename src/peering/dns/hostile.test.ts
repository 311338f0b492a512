import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { encode } from 'dns-packet';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import {
  decodeAnswer,
  ednsOption,
  encodeQuery,
  exchangeUdp,
  startTestDns,
  type TestDns,
} from '../../../test/support/peering/dns.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { createRandom } from '../../../test/support/random.ts';
import { LOG_INTERVAL_MS, UDP_AMPLIFIED_BYTES_BURST, UDP_ANSWER_BYTES_MAX } from './limits.ts';
import { createRateLimitedLog } from './rate-limited-log.ts';
import { rcodes } from './rcodes.ts';
import { createResponder } from './respond.ts';

const { BADVERS, FORMERR, NOERROR, NOTIMP, REFUSED } = rcodes;

describe('invalid DNS messages', () => {
  const api = sharedApi();
  let dns: TestDns;
  before(async () => {
    await mustRegister(api());
    dns = await startTestDns(api());
  });
  after(() => dns[Symbol.asyncDispose]());

  const web = (): Buffer => encodeQuery('web.service.accord', 'A');
  const withFlags = (flags: number): Buffer => {
    const message = web();
    message.writeUInt16BE(flags, 2);
    return message;
  };
  const withCounts = (...counts: readonly number[]): Buffer => {
    const message = web();
    for (const [i, count] of counts.entries()) message.writeUInt16BE(count, 4 + 2 * i);
    return message;
  };
  const withNameBytes = (...bytes: readonly number[]): Buffer =>
    Buffer.concat([web().subarray(0, 12), Buffer.from(bytes), Buffer.from([0, 1, 0, 1])]);
  const withOptions = (...names: readonly string[]): Buffer => {
    const additionals = names.map(() => ednsOption(1232));
    return encode({ id: 4711, questions: [{ name: 'web.service.accord', type: 'A' }], additionals });
  };

  // Verifies [SVC-103].
  const refused: Readonly<Record<string, readonly [message: () => Buffer, rcode: number]>> = {
    'NOTIFY is not implemented': [() => withFlags(4 << 11), NOTIMP],
    'UPDATE is not implemented': [() => withFlags(5 << 11), NOTIMP],
    'an unassigned opcode is not implemented': [() => withFlags(15 << 11), NOTIMP],
    'no question is malformed': [() => withCounts(0), FORMERR],
    'two questions are malformed': [() => withCounts(2), FORMERR],
    'a question with answers is malformed': [() => withCounts(1, 1), FORMERR],
    'a question with thousands of records is malformed': [() => withCounts(1, 0, 0, 65_535), FORMERR],
    'a header alone is malformed': [() => web().subarray(0, 12), FORMERR],
    'a question that is cut is malformed': [() => web().subarray(0, -1), FORMERR],
    'a name that leads to itself is malformed': [() => withNameBytes(0xc0, 0x0c), FORMERR],
    'a name that leads into the header is malformed': [() => withNameBytes(0xc0, 0x02), FORMERR],
    'a label longer than labels is malformed': [() => withNameBytes(0x40, 0x61), FORMERR],
    'a label with a dot in it is malformed': [() => withNameBytes(3, 0x61, 0x2e, 0x62, 0), FORMERR],
    'a label that is not valid UTF-8 is malformed': [() => withNameBytes(2, 0xff, 0xfe, 0), FORMERR],
    'two EDNS records are malformed': [() => withOptions('', ''), FORMERR],
  };
  for (const [what, [message, rcode]] of Object.entries(refused)) {
    test(what, async () => {
      const sent = message();
      const answer = await exchangeUdp(dns.port, sent);
      const { packet } = decodeAnswer(answer);
      assert.equal((packet.flags ?? 0) & 0xf, rcode);
      assert.deepEqual([answer.length, packet.id, packet.flag_qr], [12, 4711, true]);
    });
  }

  test('return BADVERS for an unsupported EDNS version [SVC-108]', async () => {
    const message = encode({
      id: 1,
      questions: [{ name: 'web.service.accord', type: 'A' }],
      additionals: [ednsOption(1232, 1)],
    });
    const { packet, answers, rcode } = decodeAnswer(await exchangeUdp(dns.port, message));
    const [edns] = packet.additionals ?? [];
    assert.ok(edns?.type === 'OPT');
    assert.deepEqual([(edns.extendedRcode << 4) | rcode, edns.ednsVersion, answers], [BADVERS, 0, []]);
  });

  test('get unknown types and classes copied to the response', async () => {
    for (const [type, network, rcode] of [
      [65_280, 1, NOERROR],
      [1, 1_234, REFUSED],
    ] as const) {
      const message = web();
      message.writeUInt16BE(type, message.length - 4);
      message.writeUInt16BE(network, message.length - 2);
      const answer = await exchangeUdp(dns.port, message);
      assert.equal(decodeAnswer(answer).rcode, rcode);
      assert.deepEqual(answer.subarray(12, message.length), message.subarray(12));
    }
  });

  test('get no response when they are too short or are responses [SVC-103]', async () => {
    const isAnswer = withFlags(1 << 15);
    const before = dns.traffic.ignoredCount;
    const good = encodeQuery('web.service.accord', 'A', { packet: { id: 5 } });
    const answer = await exchangeUdp(dns.port, Buffer.alloc(0), Buffer.alloc(11), isAnswer, good);
    assert.equal(decodeAnswer(answer).packet.id, 5);
    assert.equal(dns.traffic.ignoredCount, before + 3);
  });

  test('never cause an exception or a large response, and valid questions still work', async () => {
    const random = createRandom(20_260_101);
    const unsaid: unknown[] = [];
    const zone = {
      credentials: api().peering.credentials,
      domain: 'accord',
      ttlSeconds: 0,
      secretHash: undefined,
      random: random.next,
    };
    const responder = createResponder(zone, { warn: (error) => void unsaid.push(error) }, createFakeClock());
    const seeds = [web(), encodeQuery('web.service.accord', 'SRV', { udpPayloadSize: 4_096 }), withOptions('', '')];
    for (let round = 0; round < 20_000; round++) {
      let message = Buffer.from(random.pick(seeds));
      for (let change = random.below(6); change >= 0; change--) {
        const kind = random.below(10);
        if (kind === 0) message = message.subarray(0, random.below(message.length + 1));
        else if (kind === 1) message = Buffer.concat([message, random.pick(seeds)]);
        else if (message.length > 0) message[random.below(message.length)] = random.below(256);
      }
      const answer = await responder.respond(message, 'udp', '127.0.0.1');
      if (answer === undefined) continue;
      assert.ok(answer.length <= UDP_ANSWER_BYTES_MAX);
      assert.equal(answer.readUInt16BE(0), message.readUInt16BE(0));
      assert.ok((answer.readUInt16BE(2) & 0x8000) !== 0);
      // Responses are valid and are not answered again, so two servers cannot loop.
      decodeAnswer(answer);
      assert.equal(await responder.respond(answer, 'udp', '127.0.0.1'), undefined);
    }
    assert.deepEqual(unsaid, []);
    assert.equal(decodeAnswer(await exchangeUdp(dns.port, web())).rcode, NOERROR);
  });
});

describe('UDP responses that are larger than their questions', () => {
  const api = sharedApi();

  test('are truncated to the question past the rate of an address, and then the client uses TCP [SVC-115]', async () => {
    await mustRegister(api());
    const clock = createFakeClock();
    const zone = { credentials: api().peering.credentials, domain: 'accord', ttlSeconds: 0, secretHash: undefined };
    const responder = createResponder({ ...zone, random: () => 0 }, { warn: () => undefined }, clock);
    const question = encodeQuery('web.service.accord', 'ANY', { udpPayloadSize: 1_232 });
    const missing = encodeQuery(`${'x'.repeat(60)}.service.accord`, 'A');
    const ask = async (message: Buffer, over: 'udp' | 'tcp', address: string): Promise<Buffer> =>
      (await responder.respond(message, over, address)) ?? Buffer.alloc(0);
    const isTruncated = (answer: Buffer): boolean => (answer.readUInt16BE(2) & 0x0200) !== 0;
    const large = encodeQuery('web.service.accord', 'SRV');
    const size = (await ask(large, 'udp', '192.0.2.9')).length;
    assert.ok(size > 2 * large.length, `${size} bytes`);
    let sent = 0;
    while (!isTruncated(await ask(large, 'udp', '192.0.2.1'))) sent += size;
    assert.ok(sent <= UDP_AMPLIFIED_BYTES_BURST && sent + size > UDP_AMPLIFIED_BYTES_BURST);
    const cut = await ask(large, 'udp', '192.0.2.1');
    assert.ok(cut.length <= large.length);
    assert.equal(decodeAnswer(cut).packet.id, decodeAnswer(await ask(large, 'tcp', '192.0.2.1')).packet.id);
    // Other addresses, small answers, TCP and this machine are not affected.
    for (const answer of [
      ask(large, 'udp', '192.0.2.2'),
      ask(missing, 'udp', '192.0.2.1'),
      ask(question, 'tcp', '192.0.2.1'),
      ask(large, 'tcp', '192.0.2.1'),
      ask(large, 'udp', '127.0.0.1'),
    ]) {
      assert.equal(isTruncated(await answer), false);
    }
    clock.advance(1_000);
    assert.equal(isTruncated(await ask(large, 'udp', '192.0.2.1')), false);
    assert.ok((responder.udpRate.refused.get('address') ?? 0) >= 2);
  });
});

test('logs a repeated failure once per interval', async () => {
  const lines: unknown[] = [];
  const log = createRateLimitedLog({ warn: (fields: unknown) => void lines.push(fields) } as never, {
    now: () => 0,
    monotonic: () => LOG_INTERVAL_MS,
    after: () => () => undefined,
  });
  const zone = { domain: 'accord', ttlSeconds: 0, secretHash: undefined, random: () => 0, credentials: {} as never };
  const responder = createResponder(zone, log, createFakeClock());
  for (let i = 0; i < 1_000; i++) {
    const answer = await responder.respond(encodeQuery('web.service.accord', 'A'), 'udp', '127.0.0.1');
    assert.equal(answer && decodeAnswer(answer).rcode, rcodes.SERVFAIL);
  }
  assert.equal(lines.length, 1);
});
