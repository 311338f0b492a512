import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type CheckJson,
  type Fields,
  healthOf,
  mustGet,
  mustRegister,
  requestRegister,
} from '../../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';

describe('register', () => {
  const api = sharedApi();

  // Verifies [SVC-12] [SVC-13] [SVC-30] [SVC-32] [SVC-33] [SVC-34].
  test('writes node, service and checks in one commit and returns them in the form of Consul [SVC-6] [SVC-17]', async () => {
    const before = api().state.snapshot.index;
    await mustRegister(api(), {
      Node: 'shapes',
      ID: '40E4A748-2192-161A-0510-9BF59FE950B5',
      TaggedAddresses: { lan: '10.0.0.1', wan: '192.0.2.1' },
      NodeMeta: { rack: '7', row: 'b' },
      Service: {
        ID: 'shaped-1',
        Service: 'shaped',
        Tags: ['v1', 'primary'],
        Address: '10.0.0.9',
        Port: 8080,
        Meta: { team: 'a' },
        Weights: { Passing: 10, Warning: 1 },
        TaggedAddresses: { lan: { Address: '10.0.0.9', Port: 8080 } },
      },
      Check: { Name: 'disk', Status: 'warning' },
      Checks: [
        {
          CheckID: 'http',
          Name: 'answers',
          Status: 'passing',
          ServiceID: 'shaped-1',
          Notes: 'n',
          Output: 'o',
          Definition: { HTTP: 'http://10.0.0.9:8080', Interval: '5s', Method: '', TLSSkipVerify: false },
        },
      ],
    });
    const index = before + 1;
    assert.equal(api().state.snapshot.index, index);
    const indexes = { CreateIndex: index, ModifyIndex: index };
    const node = {
      ID: '40e4a748-2192-161a-0510-9bf59fe950b5',
      Node: 'shapes',
      Address: '10.0.0.1',
      Datacenter: 'dc1',
      Partition: 'default',
      TaggedAddresses: { lan: '10.0.0.1', wan: '192.0.2.1' },
    };
    const service = {
      ID: 'shaped-1',
      Service: 'shaped',
      Tags: ['v1', 'primary'],
      Meta: { team: 'a' },
      Port: 8080,
      Address: '10.0.0.9',
      TaggedAddresses: { lan: { Address: '10.0.0.9', Port: 8080 } },
      Weights: { Passing: 10, Warning: 1 },
      EnableTagOverride: false,
      Datacenter: 'dc1',
      Partition: 'default',
      ...indexes,
    };
    const ofNode = {
      Node: 'shapes',
      CheckID: 'disk',
      Name: 'disk',
      Status: 'warning',
      Notes: '',
      Output: '',
      ServiceID: '',
      ServiceName: '',
      ServiceTags: [],
      Type: '',
      Partition: 'default',
      Definition: {},
      ...indexes,
    };
    const ofService = {
      ...ofNode,
      CheckID: 'http',
      Name: 'answers',
      Status: 'passing',
      Notes: 'n',
      Output: 'o',
      ServiceID: 'shaped-1',
      ServiceName: 'shaped',
      ServiceTags: ['v1', 'primary'],
      Definition: { HTTP: 'http://10.0.0.9:8080', Interval: '5s' },
    };
    const whole = { ...node, Meta: { rack: '7', row: 'b' }, ...indexes };
    assert.deepEqual(await mustGet(api(), '/v1/health/service/shaped'), [
      { Node: whole, Service: service, Checks: [ofNode, ofService] },
    ]);
    assert.deepEqual(await mustGet(api(), '/v1/catalog/service/shaped'), [
      {
        ...node,
        NodeMeta: { rack: '7', row: 'b' },
        ServiceID: 'shaped-1',
        ServiceName: 'shaped',
        ServiceAddress: '10.0.0.9',
        ServicePort: 8080,
        ServiceTags: ['v1', 'primary'],
        ServiceMeta: { team: 'a' },
        ServiceTaggedAddresses: { lan: { Address: '10.0.0.9', Port: 8080 } },
        ServiceWeights: { Passing: 10, Warning: 1 },
        ServiceEnableTagOverride: false,
        ...indexes,
      },
    ]);
    assert.deepEqual(await mustGet(api(), '/v1/catalog/node/shapes'), {
      Node: whole,
      Services: { 'shaped-1': service },
    });
    assert.deepEqual(await mustGet(api(), '/v1/health/node/shapes'), [ofNode, ofService]);
    const nodes = await mustGet<Fields[]>(api(), '/v1/catalog/nodes');
    assert.deepEqual(
      nodes.find(({ Node }) => Node === 'shapes'),
      whole,
    );
  });

  test('accepts every field that the Go client of Consul sends [SVC-17] [SVC-25]', async () => {
    await mustRegister(api(), {
      ID: '',
      Node: 'go',
      TaggedAddresses: null,
      NodeMeta: null,
      Datacenter: '',
      Service: {
        ID: 'go-1',
        Service: 'go',
        Tags: null,
        Meta: null,
        Port: 1,
        Address: '',
        Weights: { Passing: 0, Warning: 0 },
        EnableTagOverride: false,
      },
      Check: {
        Node: 'go',
        CheckID: 'c',
        Name: 'c',
        Status: 'passing',
        Notes: '',
        Output: '',
        ServiceID: 'go-1',
        ServiceName: 'go',
        Type: '',
        ExposedPort: 0,
        Definition: {
          ...{ HTTP: '', Header: null, Method: '', Body: '', TLSServerName: '', TLSSkipVerify: false, TCP: '' },
          ...{ TCPUseTLS: false, UDP: '', GRPC: '', OSService: '', GRPCUseTLS: false },
          ...{ Interval: '0s', Timeout: '0s', DeregisterCriticalServiceAfter: '0s' },
        },
        Namespace: '',
        Partition: '',
      },
      Checks: null,
      SkipNodeUpdate: false,
      Partition: '',
      Locality: undefined,
    });
    const [entry] = await mustGet<{ Service: Fields; Checks: Fields[] }[]>(api(), '/v1/health/service/go');
    assert.deepEqual(entry?.Service['Weights'], { Passing: 1, Warning: 1 });
    assert.deepEqual(entry?.Checks[0]?.['Definition'], {});
  });

  test('writes nothing and answers true when nothing changes [SVC-18]', async () => {
    const again = {
      Node: 'again',
      NodeMeta: { b: '2', a: '1' },
      Service: { Service: 'again', Meta: { y: '2', x: '1' }, Tags: ['t'] },
      Checks: [
        { Name: 'n', Status: 'passing' },
        { Name: 's', Status: 'passing', ServiceID: 'again' },
      ],
    };
    await mustRegister(api(), again);
    const { snapshot } = api().state;
    await mustRegister(api(), { ...again, NodeMeta: { a: '1', b: '2' } });
    await mustRegister(api(), { ...again, Checks: undefined });
    await mustRegister(api(), { ...again, Node: 'AGAIN' });
    await mustRegister(api(), { ...again, SkipNodeUpdate: true, Address: '' });
    assert.equal(api().state.snapshot, snapshot);
  });

  test('changes only what the body contains [SVC-8] [SVC-12] [SVC-16]', async () => {
    const service = { ID: 'kept-1', Service: 'kept', Port: 1 };
    const checks = [
      { Name: 'a', Status: 'passing', ServiceID: 'kept-1' },
      { Name: 'b', ServiceID: 'kept-1' },
    ];
    await mustRegister(api(), { Node: 'kept', Service: service, Checks: checks });
    assert.deepEqual(await healthOf(api(), 'kept'), ['kept/kept-1 passing,critical']);
    await mustRegister(api(), { Node: 'kept', Service: { ...service, Port: 2 } });
    assert.deepEqual(await healthOf(api(), 'kept'), ['kept/kept-1 passing,critical']);
    await mustRegister(api(), {
      Node: 'kept',
      Service: undefined,
      Check: { Name: 'b', Status: 'warning', ServiceID: 'kept-1', Output: 'slow' },
    });
    assert.deepEqual(await healthOf(api(), 'kept'), ['kept/kept-1 passing,warning']);
    await mustRegister(api(), { Node: 'kept', SkipNodeUpdate: true, Address: '10.7.7.7', Service: service });
    const [entry] = await mustGet<{ Node: Fields; Service: Fields }[]>(api(), '/v1/health/service/kept');
    assert.deepEqual([entry?.Node['Address'], entry?.Service['Port']], ['10.0.0.1', 1]);
    await mustRegister(api(), { Node: 'kept', Address: '10.7.7.7', Service: undefined });
    const [moved] = await mustGet<{ Node: Fields }[]>(api(), '/v1/health/service/kept');
    assert.equal(moved?.Node['Address'], '10.7.7.7');
  });

  test('replaces a service with the same ID and another name [SVC-11]', async () => {
    await mustRegister(api(), { Node: 'reused', Service: { ID: 'x', Service: 'first' } });
    await mustRegister(api(), { Node: 'reused', Service: { ID: 'x', Service: 'second' } });
    assert.deepEqual(await healthOf(api(), 'first'), []);
    assert.deepEqual(await healthOf(api(), 'second'), ['reused/x']);
  });

  test('registers in the partition that the body or its service names [SVC-11] [SVC-22]', async () => {
    await api().makePartitions('eu');
    await mustRegister(api(), { Node: 'p', Partition: 'EU', Service: { Service: 'parted', Address: '10.0.0.2' } });
    assert.deepEqual(await healthOf(api(), 'parted'), []);
    assert.deepEqual(await healthOf(api(), 'parted', '?partition=eu'), ['p/parted']);
    await mustRegister(api(), { Node: 'q', Service: { Service: 'parted', Partition: 'eu' } });
    assert.deepEqual(await healthOf(api(), 'parted', '?partition=eu'), ['p/parted', 'q/parted']);
    const refusal = await api().request('DELETE', '/v1/partition/eu');
    assert.equal(refusal.status, 409);
    assert.match(refusal.text, /^partition "eu" is still named by node "[pq]" of the catalog$/);
  });

  const invalidBodies: readonly (readonly [what: string, fields: Fields, text: RegExp])[] = [
    ['no node', { Node: '' }, /^Must provide node$/], // [SVC-7]
    ['no address', { Address: '' }, /^Must provide address if SkipNodeUpdate is not set$/], // [SVC-7]
    // [SVC-8]
    ['SkipNodeUpdate for a missing node', { Node: 'no', Address: '', SkipNodeUpdate: true }, /there is no node "no"/],
    ['an invalid node ID', { ID: 'nope' }, /^Bad node ID: "nope" is not a UUID$/], // [SVC-9]
    [
      'an ID without a name', // [SVC-10]
      { Service: { ID: 'x' } },
      /^Must provide service name \(Service\.Service\) when service ID/,
    ],
    [
      'a wildcard address', // [SVC-24]
      { Service: { Service: 'x', Address: '0.0.0.0' } },
      /^Invalid service address "0\.0\.0\.0": want an address/,
    ],
    [
      'a port out of range', // [SVC-24]
      { Service: { Service: 'x', Port: 65_536 } },
      /^Invalid service port 65536: want 0 to 65535$/,
    ],
    ['a name with a star', { Service: { Service: 'x*' } }, /^"x\*" is not a valid service name/], // [SVC-24]
    ['a node name with a slash', { Node: 'a/b' }, /^"a\/b" is not a valid node name/], // [SVC-24]
    // [SVC-24]
    ['an ID with a control character', { Service: { Service: 'x', ID: 'a\u0000b' } }, /is not a valid service ID/],
    ['half of a surrogate pair', { Service: { Service: 'x\ud800' } }, /a string contains half of a surrogate pair$/],
    [
      'too many tags', // [SVC-24]
      { Service: { Service: 'x', Tags: Array(65).fill('t') } },
      /^65 tags: want at most 64$/,
    ],
    // [SVC-24]
    ['a negative weight', { Service: { Service: 'x', Weights: { Passing: -1 } } }, /^Invalid weights -1 and 0/],
    ['invalid metadata', { NodeMeta: { 'a b': '' } }, /^meta tags failed validation: key "a b"/],
    // [SVC-16]
    ['an unknown status', { Check: { Name: 'x', Status: 'fine' } }, /^Invalid check status "fine": want passing or/],
    // [SVC-13]
    ['a check without a name', { Check: { Status: 'passing' } }, /^Must provide a CheckID or a Name for every check$/],
    [
      'a check of another node',
      { Check: { Name: 'x', Node: 'n2' } },
      /a check belongs to node "n2", and the request to/,
    ],
    [
      'a check of a missing service', // [SVC-15]
      { Check: { Name: 'x', ServiceID: 'no' } },
      /^Missing service registration: there is no/,
    ],
    [
      'too many checks', // [SVC-24]
      { Checks: Array.from({ length: 65 }, (_, i) => ({ Name: `${i}` })) },
      /^65 checks: want at most/,
    ],
    ['another datacenter', { Datacenter: 'dc9' }, /^No path to datacenter "dc9": this cluster is "dc1"$/], // [SVC-19]
    ['a namespace', { Namespace: 'team' }, /^unknown namespace "team"/], // [SVC-20]
    ['a peer', { PeerName: 'east' }, /^cannot change items of peer "east": /], // [SVC-21]
    // [SVC-21]
    ['an imported service', { Service: { Service: 'x', PeerName: 'east' } }, /^cannot change items of peer "east": /],
    ['an unknown field', { Adress: 'x' }, /json: unknown field "Adress", did you mean "Address"\?$/],
    ['an invalid definition', { Check: { Name: 'x', Definition: { HTTP: 5 } } }, /Definition\.HTTP: want a string/],
    [
      'two partitions', // [SVC-22]
      { Partition: 'eu', Service: { Service: 'x', Partition: 'us' } },
      /^the request names two partitions/,
    ],
    ['a missing partition', { Partition: 'nowhere' }, /^partition "nowhere" does not exist$/],
  ];
  for (const [what, fields, text] of invalidBodies) {
    test(`returns 400 for ${what} and changes nothing`, async () => {
      const { snapshot } = api().state;
      const answer = await requestRegister(api(), fields);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, text);
      assert.equal(api().state.snapshot, snapshot);
    });
  }

  test('returns 400 for more than CHECKS_MAX checks of one service [SVC-24]', async () => {
    const checks = (from: number, count: number): Fields[] =>
      Array.from({ length: count }, (_, i) => ({ Name: `${from + i}`, ServiceID: 'many' }));
    await mustRegister(api(), { Node: 'many', Service: { Service: 'many' }, Checks: checks(0, 64) });
    const answer = await requestRegister(api(), { Node: 'many', Service: { Service: 'many' }, Checks: checks(64, 1) });
    assert.deepEqual(statusAndText(answer), [400, '65 checks of one service or node: want at most 64']);
  });

  test('truncates output that is too long [SVC-24]', async () => {
    const Output = `${'x'.repeat(4095)}\u{1f600}`;
    await mustRegister(api(), { Node: 'long', Service: undefined, Check: { Name: 'c', Output } });
    const [check] = await mustGet<{ Output: string }[]>(api(), '/v1/health/node/long');
    assert.equal(check?.Output, `${'x'.repeat(4095)}\ufffd`);
  });
});

test('returns 400 for a partition in the community edition', async () => {
  await using api = await startApi({ edition: 'community' });
  await mustRegister(api, { Partition: 'default' });
  assert.equal((await requestRegister(api, { Partition: 'eu' })).status, 400);
  assert.equal((await api.request('GET', '/v1/health/service/web?partition=eu')).status, 400);
  assert.deepEqual(await healthOf(api, 'web'), ['n1/web']);
});

test('stores all of many concurrent registrations', async () => {
  await using api = await startApi();
  const names = Array.from({ length: 200 }, (_, i) => `s${i}`);
  await Promise.all(names.map((Service, i) => mustRegister(api, { Node: `n${i % 7}`, Service: { Service } })));
  assert.deepEqual(Object.keys(await mustGet(api, '/v1/catalog/services')).toSorted(), names.toSorted());
  assert.equal((await mustGet<unknown[]>(api, '/v1/catalog/nodes')).length, 7);
});

test('keeps the last of two checks with the same ID, on a new node and on an existing node [SVC-12]', async () => {
  await using api = await startApi();
  const Checks = [
    { CheckID: 'disk', Name: 'disk', Status: 'critical' },
    { CheckID: 'disk', Name: 'disk', Status: 'passing' },
    { CheckID: 'answers', ServiceID: 'web', Status: 'critical' },
    { CheckID: 'answers', ServiceID: 'web', Status: 'warning' },
  ];
  for (const Node of ['new', 'new', 'other']) {
    await mustRegister(api, { Node, Checks });
    const checks = await mustGet<CheckJson[]>(api, `/v1/health/node/${Node}`);
    assert.deepEqual(
      checks.map(({ CheckID, Status }) => `${CheckID} ${Status}`),
      ['disk passing', 'answers warning'],
    );
  }
});

describe('a registration on an existing node [SVC-113]', () => {
  const api = sharedApi();
  const onNode = (node: string, service: string, more = {}) => ({
    Node: node,
    Address: '10.1.1.1',
    Service: { Service: service },
    ...more,
  });

  test('needs rights over every service on the node, also with SkipNodeUpdate', async () => {
    await mustRegister(api(), onNode('shared', 'db', { NodeMeta: { secret: 'x' } }));
    const { SecretID: token } = await api().makeToken(['services:write@default=web']);
    const both = (await api().makeToken(['services:write@default=web,db'])).SecretID;
    for (const more of [{ SkipNodeUpdate: true, Address: '' }, { NodeMeta: { secret: 'x' } }]) {
      const { status, text } = await requestRegister(api(), onNode('shared', 'web', more), { token });
      assert.equal(status, 403);
      assert.match(text, /lacks permission 'services:write'$/);
    }
    const { text } = await api().request('GET', '/v1/catalog/node/shared', { token });
    assert.ok(!text.includes('secret'), text);
    const joined = await requestRegister(api(), onNode('shared', 'web', { SkipNodeUpdate: true }), { token: both });
    assert.equal(joined.status, 200, joined.text);
    // The service is on the node now, so its own token can renew it.
    const renewed = onNode('shared', 'web', { SkipNodeUpdate: true });
    assert.equal((await requestRegister(api(), renewed, { token })).status, 200);
  });

  test('needs rights over every service of the partition when the node has checks of its own', async () => {
    await mustRegister(api(), {
      ...onNode('checked', ''),
      Service: undefined,
      Check: { Name: 'disk', Status: 'passing' },
    });
    const { SecretID: token } = await api().makeToken(['services:write@default=web']);
    const answer = await requestRegister(api(), onNode('checked', 'web', { SkipNodeUpdate: true }), { token });
    assert.equal(answer.status, 403);
  });

  test('is open on a node that nothing else uses', async () => {
    const { SecretID: token } = await api().makeToken(['services:write@default=web']);
    for (const more of [{}, { Service: { ID: 'web-2', Service: 'web' } }]) {
      assert.equal((await requestRegister(api(), onNode('own', 'web', more), { token })).status, 200);
    }
  });
});
