import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importedInstance } from '../../../../test/support/peering/catalog-requests.ts';
import type { Instance } from '../../catalog/tables/instance.ts';
import { ApplyRefused } from '../contract.ts';
import { INSTANCE_ENTRIES_MAX, INSTANCE_TEXT_CHARACTERS_MAX } from '../limits.ts';
import { checkInstance } from './check-instance.ts';

const valid = importedInstance('web', 'n1');
const [check] = valid.checks;
assert.ok(check);

const withNode = (fields: Partial<Instance['node']>): Instance => ({ ...valid, node: { ...valid.node, ...fields } });
const withService = (fields: Partial<Instance['service']>): Instance => ({
  ...valid,
  service: { ...valid.service, ...fields },
});
const withCheck = (fields: Partial<typeof check>): Instance => ({ ...valid, checks: [{ ...check, ...fields }] });
const many = Array.from({ length: INSTANCE_ENTRIES_MAX + 1 }, (_, i) => `t${i}`);
const manyPairs = Object.fromEntries(many.map((key) => [key, 'x']));
const long = 'x'.repeat(INSTANCE_TEXT_CHARACTERS_MAX + 1);

const REFUSED: readonly (readonly [instance: Instance, reason: RegExp])[] = [
  [withService({ name: 'db' }), /^service "web" has an instance of the service "db"$/],
  [withService({ name: '' }), /has an instance of the service ""$/],
  [withService({ port: -1 }), /^the port of an instance of service "web" is "-1": want 0 to 65535$/],
  [withService({ port: 65_536 }), /^the port of .* is "65536"/],
  [withService({ address: '0.0.0.0' }), /^the address of .* want an address that clients can connect to$/],
  [withService({ address: 'a\nb' }), /^the address of .* none of them a control character$/],
  [withService({ id: 'x'.repeat(513) }), /^the ID of /],
  [withService({ kind: long }), /^the kind of /],
  [withService({ socketPath: long }), /^the socket path of /],
  [withService({ tags: many }), /^257 tags of .*: at most 256 are accepted$/],
  [withService({ tags: [long] }), /^one of the tags of /],
  [withService({ tags: ['\u001b[2J'] }), /^one of the tags of /],
  [withService({ meta: manyPairs }), /^257 pairs in the metadata of /],
  [withService({ meta: { key: long } }), /^one of the pairs in the metadata of /],
  [withService({ meta: { 'a\nb': '' } }), /^a key of the pairs in the metadata of /],
  [withService({ taggedAddresses: { lan: { address: '10.0.0.1', port: 70_000 } } }), /^the port of one of the tagged/],
  [withService({ taggedAddresses: { lan: { address: '::', port: 1 } } }), /^one of the tagged addresses of /],
  [withService({ weights: { passing: -1, warning: 1 } }), /^the weights of .* is "-1 and 1"/],
  [withService({ weights: { passing: 1, warning: 65_536 } }), /^the weights of /],
  [
    withService({ mesh: { native: true, sni: many, spiffeId: [], protocol: '' } }),
    /^257 server names of an instance of service "web"/,
  ],
  [withNode({ name: '' }), /^the name of the node of /],
  [withNode({ name: 'x'.repeat(254) }), /^the name of the node of /],
  [withNode({ id: long }), /^the ID of the node of /],
  [withNode({ address: '::' }), /^the address of the node of /],
  [withNode({ datacenter: 'dc 2' }), /^the datacenter or partition of the node of /],
  [withNode({ partition: '../x' }), /^the datacenter or partition of the node of /],
  [withNode({ meta: manyPairs }), /^257 pairs in the metadata of the node of /],
  [withNode({ taggedAddresses: { lan: 'a\0' } }), /^one of the tagged addresses of the node of /],
  [{ ...valid, checks: many.map(() => check) }, /^257 checks of /],
  [withCheck({ status: 'fine' }), /^the status of .* want passing or warning or critical or maintenance$/],
  [withCheck({ serviceName: 'db' }), /^a check of .* is of the service "db"$/],
  [withCheck({ serviceId: 'web-2' }), /^a check of .* is of the instance "web-2", not of "web"$/],
  [withCheck({ id: long }), /^the ID of a check of /],
  [withCheck({ output: long }), /^the output of a check of /],
  [withCheck({ notes: long }), /^the notes of a check of /],
  [withCheck({ serviceTags: many }), /^257 service tags of a check of /],
];

describe('an instance of a peer [STREAM-99]', () => {
  for (const [instance, reason] of REFUSED) {
    it(`is refused: ${reason.source.slice(0, 60)}`, () => {
      assert.throws(
        () => checkInstance('web', instance),
        (error) => error instanceof ApplyRefused && reason.test(error.message),
      );
    });
  }

  it('is accepted in another spelling, with a check of the node, lines in an output, and at every limit', () => {
    checkInstance('WEB', valid);
    checkInstance('web', withCheck({ serviceName: '', serviceId: '', output: 'one\ntwo' }));
    checkInstance('web', withService({ port: 0, weights: { passing: 0, warning: 0 }, tags: many.slice(1) }));
    checkInstance('web', withService({ port: 65_535, meta: { key: long.slice(1) } }));
  });
});
