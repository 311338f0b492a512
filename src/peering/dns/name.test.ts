import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ParsedName, parseName } from './name.ts';

const here = { peer: undefined };
const between: ParsedName = { kind: 'empty-non-terminal' };
const nothing: ParsedName = { kind: 'nothing' };

const names: Readonly<Record<string, ParsedName | undefined>> = {
  accord: { kind: 'apex' },
  ACCORD: { kind: 'apex' },
  'web.service.accord': { kind: 'service', ...here, service: 'web' },
  'Web.SERVICE.Accord': { kind: 'service', ...here, service: 'web' },
  'v1.web.service.accord': { kind: 'service', ...here, service: 'web', tag: 'v1' },
  'v1.2.web.service.accord': { kind: 'service', ...here, service: 'web', tag: 'v1.2' },
  '_web._tcp.service.accord': { kind: 'service', ...here, service: 'web' },
  '_web._v1.service.accord': { kind: 'service', ...here, service: 'web', tag: 'v1' },
  'web.service.east.peer.accord': { kind: 'service', peer: 'east', service: 'web' },
  'v1.web.service.east.peer.accord': { kind: 'service', peer: 'east', service: 'web', tag: 'v1' },
  '_web._TCP.service.east.peer.accord': { kind: 'service', peer: 'east', service: 'web' },
  'n1.node.accord': { kind: 'node', ...here, node: 'n1' },
  'n1.example.com.node.accord': { kind: 'node', ...here, node: 'n1.example.com' },
  'n1.node.east.peer.accord': { kind: 'node', peer: 'east', node: 'n1' },
  '0a000001.addr.accord': { kind: 'address', address: '10.0.0.1' },
  '20010db8000000000000000000000001.addr.accord': { kind: 'address', address: '2001:db8::1' },
  'service.accord': between,
  'node.accord': between,
  'addr.accord': between,
  'peer.accord': between,
  'east.peer.accord': between,
  'service.east.peer.accord': between,
  'node.east.peer.accord': between,
  '_tcp.service.accord': between,
  'web.accord': nothing,
  'web.east.peer.accord': nothing,
  'web._tcp.service.accord': nothing,
  'a._web._tcp.service.accord': nothing,
  '0a00.addr.accord': nothing,
  'x.0a000001.addr.accord': nothing,
  '0a000001.addr.east.peer.accord': nothing,
  '.': undefined,
  'example.com': undefined,
  webaccord: undefined,
  'web.service.accord.example': undefined,
};

for (const [name, expected] of Object.entries(names)) {
  test(`parses ${name} as ${JSON.stringify(expected) ?? 'outside the domain'} [SVC-98]`, () => {
    assert.deepEqual(parseName(name, 'accord'), expected);
  });
}

test('accepts a domain with several labels', () => {
  assert.deepEqual(parseName('web.service.a.example', 'a.example'), { kind: 'service', ...here, service: 'web' });
  assert.equal(parseName('web.service.example', 'a.example'), undefined);
});
