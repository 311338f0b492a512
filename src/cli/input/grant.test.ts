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
  test(`the grant ${text} is read`, () => assert.deepEqual(parseGrant(text), grant));
}

const faults: Readonly<Record<string, RegExp>> = {
  peering: /Want RESOURCE:ACCESS/,
  '': /Want RESOURCE:ACCESS/,
  'peering:read@': /Want RESOURCE:ACCESS/,
  'peering:read@a@b': /Want RESOURCE:ACCESS/,
  'peering:read=': /Want RESOURCE:ACCESS/,
  'peer:read': /"peer" is no resource; want one of peering, services, config, acl, operator/,
  'peering:list': /"list" is no access; want one of read, write/,
  'peering:read=a*b': /"a\*b" is no name; \* stands only at the end/,
  'peering:read=a,,b': /"" is no name/,
};

for (const [text, message] of Object.entries(faults)) {
  test(`the grant ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => parseGrant(text), message);
  });
}

test('a grant that was written is read back', () => {
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
