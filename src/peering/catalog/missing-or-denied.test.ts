/** Tests that a caller with a grant limited to names cannot distinguish missing items from forbidden ones ([SVC-5]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Fields,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
  requestDeregister,
  requestRegister,
} from '../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';

describe('a caller that may write some services', () => {
  const api = sharedApi();
  const checkOf = (ServiceID: string): Fields => ({ Service: undefined, Check: { CheckID: 'c', ServiceID } });
  const agent = (path: string) => (id: string, token: string) =>
    api().request('PUT', `/v1/agent/${path}/${id}`, { token });

  const requests = {
    'the deregistration of a service': (id: string, token: string) =>
      requestDeregister(api(), { Node: 'n1', ServiceID: id }, { token }),
    'the deregistration of a check': (id: string, token: string) =>
      requestDeregister(api(), { Node: 'n1', CheckID: `${id}-check` }, { token }),
    'the registration of a check of a service': (id: string, token: string) =>
      requestRegister(api(), checkOf(id), { token }),
    'the deregistration of a service of the agent': agent('service/deregister'),
    'a report for a check': agent('check/pass'),
  } as const;

  for (const [what, request] of Object.entries(requests)) {
    test(`gets the same 403 for ${what} whether or not it exists [V1-53]`, async () => {
      await mustRegister(api(), {
        Service: { Service: 'secret' },
        Check: { CheckID: 'secret-check', ServiceID: 'secret' },
      });
      await mustRegisterWithAgent(api(), { Name: 'secret', Check: { CheckID: 'secret', TTL: '1h' } });
      const { SecretID: token } = await api().makeToken(['services:write@default=web']);
      const { snapshot } = api().state;
      const others = await request('secret', token);
      const none = await request('nosuch', token);
      assert.equal(others.status, 403);
      assert.deepEqual(statusAndText(none), statusAndText(others));
      assert.equal(api().state.snapshot, snapshot);
    });
  }

  test('deletes a check of its service and keeps one with the same ID of another service', async () => {
    await mustRegister(api(), { Node: 'n3', Check: { CheckID: 'alive', ServiceID: 'web' } });
    await mustRegister(api(), {
      Node: 'n3',
      Service: { Service: 'secret' },
      Check: { CheckID: 'alive', ServiceID: 'secret' },
    });
    const { SecretID: token } = await api().makeToken(['services:write@default=web']);
    assert.deepEqual(statusAndText(await requestDeregister(api(), { Node: 'n3', CheckID: 'alive' }, { token })), [
      200,
      'true',
    ]);
    const left = await mustGet<{ ServiceName: string }[]>(api(), '/v1/health/node/n3');
    assert.deepEqual(
      left.map(({ ServiceName }) => ServiceName),
      ['secret'],
    );
  });

  test('gets the owner of a taken check ID only if it may read that service [SVC-49]', async () => {
    await mustRegisterWithAgent(api(), { Name: 'secret', ID: 's1', Check: { CheckID: 'taken', TTL: '1h' } });
    const body = { Name: 'web', Check: { CheckID: 'taken', TTL: '1h' } };
    const answerTo = async (...grants: string[]) => {
      const { SecretID: token } = await api().makeToken(grants);
      return statusAndText(await api().request('PUT', '/v1/agent/service/register', { body, token }));
    };
    const text = (whose: string) => `Invalid check: CheckID "taken" belongs to ${whose} on this server`;
    assert.deepEqual(await answerTo('services:write=web'), [400, text('another service')]);
    assert.deepEqual(await answerTo('services:write=web', 'services:read=secret'), [400, text('service "s1"')]);
  });
});
