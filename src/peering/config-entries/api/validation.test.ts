/** Tests the validation of entries ([SVC-61], [SVC-62], [SVC-66], [SVC-69], [SVC-74], [SVC-85]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../../test/support/peering/catalog-requests.ts';
import {
  exportEntry,
  intentionEntry,
  mustWrite,
  requestWrite,
} from '../../../../test/support/peering/config-entry-requests.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';

const PEER_RULE =
  "is not a valid peer name: a valid peering name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long";
const PARTITION_RULE = PEER_RULE.replace('peer name', 'partition name').replace('valid peering', 'valid partition');

type InvalidBody = readonly [what: string, body: Fields | string, text: string];

const east = { Peer: 'east' };
const services = (...Services: unknown[]): Fields => exportEntry({}, { Services });
const consumers = (...Consumers: unknown[]): Fields =>
  services({ Name: 'api', Consumers: [east] }, { Name: 'web', Consumers });
const sources = (...Sources: unknown[]): Fields => intentionEntry('db', [], { Sources });

const anyEdition: readonly InvalidBody[] = [
  ['an empty body', '', 'Kind is required in the payload when writing a configuration entry.'],
  ['no kind', { Name: 'x' }, 'Kind is required in the payload when writing a configuration entry.'],
  [
    'an unknown kind',
    { Kind: 'proxy-defaults', Name: 'global' },
    'Kind: want "exported-services" or "service-intentions", got "proxy-defaults"',
  ],
  ['no name', { ...exportEntry({}), Name: '' }, 'Name is required in the payload when writing a configuration entry.'],
  ['no services', { Kind: 'exported-services', Name: 'default' }, 'Body decoding failed: Services missing'],
  [
    'a field of the other kind',
    exportEntry({}, { Sources: [] }),
    'Body decoding failed: json: unknown field "Sources"',
  ],
  [
    'a misspelled field',
    services({ Name: 'web', Consumer: [] }),
    'Body decoding failed: json: unknown field "Services[0].Consumer", did you mean "Consumers"?',
  ],
  [
    'a value of the wrong type',
    consumers({ Peer: 7 }),
    'Body decoding failed: Services[1].Consumers[0].Peer: want a string, got a number',
  ],
  ['a service without a name', services({ Name: '', Consumers: [east] }), 'Services[0]: service name cannot be empty'],
  [
    'a wildcard inside a name',
    services({ Name: 'web*', Consumers: [east] }),
    `Services[0]: service name "web*": wildcard character '*' cannot be used with partial values`,
  ],
  [
    'a name with a line break',
    services({ Name: 'a\nb', Consumers: [east] }),
    'Services[0]: service name "a\\nb": want 1 to 253 characters, none of them a control character',
  ],
  [
    'a name that is too long',
    services({ Name: 'x'.repeat(254), Consumers: [east] }),
    `Services[0]: service name "${'x'.repeat(64)}": want 1 to 253 characters, none of them a control character`,
  ],
  [
    'the service consul',
    exportEntry({ web: ['east'], consul: ['east'] }),
    'Services[1]: service "consul" is never exported: every cluster has its own',
  ],
  [
    'the service accord in any case',
    exportEntry({ Accord: ['east'] }),
    'Services[0]: service "Accord" is never exported: every cluster has its own',
  ],
  [
    'a service without consumers',
    services({ Name: 'web', Consumers: [] }),
    'Services[0]: must have at least one consumer',
  ],
  ['an empty consumer', consumers(east, {}), 'Services[1].Consumers[1]: must define a Peer or a Partition'],
  [
    'a consumer with peer and partition',
    consumers({ Peer: 'east', Partition: 'default' }),
    'Services[1].Consumers[0]: must define at most one of Peer or Partition',
  ],
  [
    'a wildcard peer as a consumer',
    consumers(east, { Peer: '*' }),
    'Services[1].Consumers[1]: exporting to all peers (wildcard) is not supported',
  ],
  [
    'a wildcard partition as a consumer',
    consumers({ Partition: '*' }),
    'Services[1].Consumers[0]: exporting to all partitions (wildcard) is not supported',
  ],
  ['an invalid peer name', consumers({ Peer: 'ea*' }), `Services[1].Consumers[0]: ea* ${PEER_RULE}`],
  ['invalid metadata', exportEntry({}, { Meta: { 'a b': 'c' } }), /^meta tags failed validation: key "a b"/.source],
  ['no sources', sources(), 'Sources: at least one source is required'], // [SVC-84]
  ['a source without a name', sources({ Name: '', Action: 'allow' }), 'Sources[0]: service name cannot be empty'],
  [
    'a wildcard inside the name of a source',
    intentionEntry('db', ['allow web', 'allow we*']),
    `Sources[1]: service name "we*": wildcard character '*' cannot be used with partial values`,
  ],
  [
    'a wildcard inside the destination',
    intentionEntry('d*', ['allow web']),
    `Name: service name "d*": wildcard character '*' cannot be used with partial values`,
  ],
  ['a source without an action', sources({ Name: 'web' }), 'Body decoding failed: Sources[0]: Action missing'],
  [
    'an unknown action', // [SVC-84]
    intentionEntry('db', ['permit web']),
    'Body decoding failed: Sources[0].Action: want "allow" or "deny", got "permit"',
  ],
  [
    'a wildcard peer of a source',
    intentionEntry('db', ['allow web@*']),
    "Sources[0].Peer: cannot use wildcard '*' in peer",
  ],
  ['an invalid peer name of a source', intentionEntry('db', ['allow web@-e']), `Sources[0].Peer: -e ${PEER_RULE}`],
  [
    'a wildcard partition of a source',
    intentionEntry('db', ['allow web/*']),
    "Sources[0].Partition: cannot use wildcard '*' in partition",
  ],
  [
    'a source with peer and partition',
    intentionEntry('db', ['allow web@east/default']),
    'Sources[0].Peer: cannot set Peer and Partition at the same time',
  ],
  [
    'a source twice',
    intentionEntry('db', ['allow web', 'deny api', 'deny WEB/default']),
    'Sources[2]: defines "WEB" of partition "default" more than once',
  ],
  [
    'a source of a peer twice',
    intentionEntry('db', ['allow web', 'allow web@east', 'deny web@EAST']),
    'Sources[2]: defines "web" of peer "EAST" more than once',
  ],
  [
    'permissions',
    sources({ Name: 'web', Permissions: [] }),
    'Body decoding failed: json: unknown field "Sources[0].Permissions"',
  ],
  [
    'a description that is too long', // [SVC-84]
    sources({ Name: 'web', Action: 'allow', Description: 'x'.repeat(513) }),
    'Body decoding failed: Sources[0].Description: must not have more than 512 characters',
  ],
  [
    'an unknown type of source',
    sources({ Name: 'web', Action: 'allow', Type: 'vm' }),
    'Body decoding failed: Sources[0].Type: want "" or "consul", got "vm"',
  ],
];

const enterprise: readonly InvalidBody[] = [
  [
    'two partitions',
    exportEntry({}, { Name: 'eu', Partition: 'us' }),
    'the request names two partitions, "us" and "eu": want one',
  ],
  ['a name that is not a partition name', exportEntry({}, { Name: 'a.b' }), `a.b ${PARTITION_RULE}`],
  ['a missing partition', exportEntry({}, { Name: 'nowhere' }), 'partition "nowhere" does not exist'],
  [
    'a missing partition as a consumer',
    exportEntry({ web: ['east', 'partition:nowhere'] }),
    'Services[0].Consumers[1]: partition "nowhere" does not exist',
  ],
  [
    'an invalid partition name as a consumer',
    exportEntry({ web: ['partition:a.b'] }),
    `Services[0].Consumers[0]: a.b ${PARTITION_RULE}`,
  ],
  [
    'a source in a missing partition',
    intentionEntry('db', ['allow web/nowhere']),
    'Sources[0].Partition: partition "nowhere" does not exist',
  ],
];

const community: readonly InvalidBody[] = [
  [
    'another name than default',
    exportEntry({}, { Name: 'eu' }),
    'Name: an exported-services entry has the name of its partition: want "default", got "eu"',
  ],
  [
    'a partition',
    exportEntry({}, { Partition: 'eu' }),
    'Invalid query parameter: "partition" - Partitions are an Accord Enterprise feature',
  ],
  [
    'a partition as a consumer',
    exportEntry({ web: ['partition:eu'] }),
    'Services[0].Consumers[0]: Partitions are an Accord Enterprise feature',
  ],
  [
    'a source in a partition',
    intentionEntry('db', ['allow web/eu']),
    'Sources[0].Partition: Partitions are an Accord Enterprise feature',
  ],
];

for (const [edition, invalidBodies] of [
  ['enterprise', [...anyEdition, ...enterprise]],
  ['community', [...anyEdition, ...community]],
] as const) {
  describe(`in the ${edition} edition a write and a preview return 400 for`, () => {
    const api = sharedApi({ edition });
    for (const [what, body, text] of invalidBodies) {
      test(what, async () => {
        const { snapshot } = api().state;
        for (const [method, path] of [
          ['PUT', '/v1/config'],
          ['POST', '/v1/config/preview'],
        ] as const) {
          const answer = await api().request(method, path, { body });
          assert.equal(answer.status, 400, answer.text);
          if (text.startsWith('^')) assert.match(answer.text, new RegExp(text));
          else assert.equal(answer.text, text);
        }
        assert.equal(api().state.snapshot, snapshot);
      });
    }
  });
}

describe('a valid entry', () => {
  const api = sharedApi();

  test('can use every form of consumers and sources', async () => {
    await api().makePartitions('eu');
    await mustWrite(api(), exportEntry({ '*': ['east', 'East'], web: ['west', 'partition:EU'], WEB: ['north'] }));
    await mustWrite(api(), exportEntry({}, { Name: 'EU', Partition: 'eu' }), '?partition=Eu');
    await mustWrite(api(), intentionEntry('*', ['allow *', 'allow *@east', 'deny web/eu', 'deny web']));
  });

  test('can be read and written back unchanged [SVC-64]', async () => {
    for (const path of ['/v1/config/exported-services/default', '/v1/config/service-intentions/*']) {
      const { index } = api().state.snapshot;
      await mustWrite(api(), (await api().request('GET', path)).json<Fields>());
      assert.equal(api().state.snapshot.index, index);
    }
  });

  test('can have its keys in any case', async () => {
    const body = { kind: 'service-intentions', name: 'lower', sources: [{ name: 'web', action: 'deny', type: '' }] };
    await mustWrite(api(), body);
  });

  test('is required only after the grant: callers without the grant get 403 for an invalid entry', async () => {
    const { SecretID: token } = await api().makeToken(['config:read@*', 'config:write@eu', 'config:write@default=db']);
    const wrong = [
      exportEntry({ consul: ['east'] }),
      exportEntry({ web: ['partition:nowhere'] }),
      intentionEntry('web', []),
    ];
    for (const body of wrong) {
      for (const [method, path] of [
        ['PUT', '/v1/config'],
        ['POST', '/v1/config/preview'],
      ] as const) {
        assert.equal((await api().request(method, path, { body, token })).status, 403);
      }
    }
    const { status, text } = await requestWrite(api(), intentionEntry('DB', []), '', { token });
    assert.deepEqual([status, text], [400, 'Sources: at least one source is required']);
  });
});

test('an entry tells nothing about partitions in which the caller may read no entry [SVC-114]', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  const { SecretID: token } = await api.makeToken(['config:write@default', 'services:read@*']);
  const answerTo = async (method: string, path: string, body: Fields) => {
    const { status, text } = await api.request(method, path, { body, token });
    return [status, text.replaceAll(/nowhere/g, 'eu')];
  };
  const entries = (partition: string) => [
    exportEntry({ web: [`partition:${partition}`] }),
    intentionEntry('db', [`allow web/${partition}`]),
  ];
  for (const [method, path] of [['POST', '/v1/config/preview'] as const, ['PUT', '/v1/config'] as const]) {
    for (const [i, missing] of entries('nowhere').entries()) {
      assert.deepEqual(await answerTo(method, path, missing), await answerTo(method, path, entries('eu')[i] ?? {}));
    }
  }
});
