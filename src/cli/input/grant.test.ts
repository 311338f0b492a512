import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatGrant, type Grant, parseGrant } from './grant.ts';

const readable: Readonly<Record<string, Grant>> = {
  'peering:read': { Resource: 'peering', Access: 'read' },
  'acl:write@*': { Resource: 'acl', Access: 'write', Partition: '*' },
  'peering:write@team-a=east,prod-*': {
    Resource: 'peering',
    Access: 'write',
    Partition: 'team-a',
    Names: ['east', 'prod-*'],
  },
  'services:read=*': { Resource: 'services', Access: 'read', Names: ['*'] },
};

for (const [text, grant] of Object.entries(readable)) {
  test(`parses ${text}`, () => assert.deepEqual(parseGrant(text), grant));
}

const invalid: Readonly<Record<string, RegExp>> = {
  peering: /Want RESOURCE:ACCESS/,
  '': /Want RESOURCE:ACCESS/,
  'peering:read@': /Want RESOURCE:ACCESS/,
  'peering:read@a@b': /Want RESOURCE:ACCESS/,
  'peering:read=': /Want RESOURCE:ACCESS/,
  'peer:read': /Unknown resource "peer"; want one of peering, services, config, acl, operator/,
  'peering:list': /Unknown access "list"; want one of read, write/,
  'peering:read=a*b': /"a\*b" is not a valid name; \* may appear only at the end/,
  'peering:read=a,,b': /"" is not a valid name/,
};

for (const [text, message] of Object.entries(invalid)) {
  test(`rejects ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseGrant(text), message);
  });
}

test('parses every grant that formatGrant produces', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}\*?$/);
  const grants = fc.record(
    {
      Resource: fc.constantFrom('peering', 'services', 'config', 'acl', 'operator'),
      Access: fc.constantFrom('read', 'write'),
      Partition: fc.oneof(fc.constant('*'), fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/)),
      Names: fc.array(name, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ['Resource', 'Access'], noNullPrototype: true },
  );
  fc.assert(fc.property(grants, (grant) => assert.deepEqual(parseGrant(formatGrant(grant as Grant)), grant)));
});
