import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { RESOURCE_PARTS_MAX } from '../limits.ts';
import { exceedsParts } from './decoded-size.ts';
import { ExportedServiceSchema } from './gen/peering/peerstream_pb.ts';
import { decodeResource } from './messages.ts';

const bytesOf = (Nodes: readonly object[]): Uint8Array =>
  toBinary(ExportedServiceSchema, create(ExportedServiceSchema, { Nodes: [...Nodes] }));
const exceeds = (bytes: Uint8Array, max: number): boolean => exceedsParts(ExportedServiceSchema, bytes, max);

describe('the parts of a resource', () => {
  it('are its messages and map entries at every depth', () => {
    const node = {
      Node: { Node: 'n', Meta: { a: '1', b: '2' } },
      Service: { Service: 's', Tags: ['t', 'u'], TaggedAddresses: { lan: { Address: 'a', Port: 1 } } },
      Checks: [{ Name: 'c' }, { Name: 'd' }],
    };
    // The instance, its node with two map entries, its service with one entry and its address, two checks.
    const parts = 1 + 3 + 3 + 2;
    for (const times of [1, 5]) {
      const bytes = bytesOf(Array.from({ length: times }, () => node));
      assert.equal(exceeds(bytes, times * parts), false);
      assert.equal(exceeds(bytes, times * parts - 1), true);
    }
    assert.equal(exceeds(new Uint8Array(0), 0), false);
  });

  it('are counted only up to the limit [STREAM-54]', () => {
    const empty = Buffer.alloc(2 * (RESOURCE_PARTS_MAX + 1), Buffer.from([0x0a, 0]));
    // The rest is malformed, but is not read.
    const bytes = Buffer.concat([empty, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f])]);
    const key = { kind: 'service', id: 'web' } as const;
    assert.throws(() => decodeResource({ key, content: bytes }), /^RangeError: it has more than 131072 parts$/);
    assert.throws(() => decodeResource({ key, content: bytes.subarray(empty.length - 2) }), { message: /^(?!it has)/ });
    const { message } = decodeResource({ key, content: empty.subarray(2) });
    assert.equal(Object(message).Nodes.length, RESOURCE_PARTS_MAX);
  });

  it('exclude unknown fields, which are dropped [STREAM-3]', () => {
    const unknown = Buffer.alloc(1_000, Buffer.from([0x7a, 0]));
    const { message } = decodeResource({ key: { kind: 'service', id: 'web' }, content: unknown });
    assert.equal(message.$unknown, undefined);
  });
});
