/** What tests of the catalog do again and again, over the API. */
import assert from 'node:assert/strict';
import { importedServices } from '../../../src/peering/catalog/tables/imported-service.ts';
import type { Instance } from '../../../src/peering/catalog/tables/instance.ts';
import { nameEntry, peerings } from '../../../src/peering/record/record.ts';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';

/** Fields of a body. */
export type Fields = Readonly<Record<string, unknown>>;

/** A check as it is shown. */
export interface ShownCheck {
  readonly Node: string;
  readonly CheckID: string;
  readonly Name: string;
  readonly Status: string;
  readonly Output: string;
  readonly ServiceID: string;
  readonly ServiceName: string;
  readonly Type: string;
  readonly PeerName?: string;
  readonly ModifyIndex: number;
}

/** An instance as health shows it. */
export interface ShownEntry {
  readonly Node: { readonly Node: string; readonly Address: string; readonly PeerName?: string };
  readonly Service: {
    readonly ID: string;
    readonly Service: string;
    readonly Address: string;
    readonly PeerName?: string;
    readonly Partition: string;
  };
  readonly Checks: readonly ShownCheck[];
}

/** Registers a service `web` on the node `n1`, with other fields where they are given. */
export const register = (api: Api, fields: Fields = {}, options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', '/v1/catalog/register', {
    ...options,
    body: { Node: 'n1', Address: '10.0.0.1', Service: { Service: 'web', Port: 80 }, ...fields },
  });

/** Registers what must be registered. */
export async function registered(api: Api, fields?: Fields): Promise<void> {
  const answer = await register(api, fields);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
}

export const deregister = (api: Api, fields: Fields, options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', '/v1/catalog/deregister', { ...options, body: fields });

/** Takes away what must be taken away. */
export async function deregistered(api: Api, fields: Fields): Promise<void> {
  const answer = await deregister(api, fields);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
}

/** What a GET answers with success. */
export async function got<T>(api: Api, path: string, options?: RequestOptions): Promise<T> {
  const answer = await api.request('GET', path, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<T>();
}

/** The instances of a service, as `node/id status,status`. */
export async function health(api: Api, service: string, query = '', options?: RequestOptions): Promise<string[]> {
  const entries = await got<ShownEntry[]>(api, `/v1/health/service/${service}${query}`, options);
  return entries.map(({ Node, Service, Checks }) =>
    `${Node.Node}/${Service.ID} ${Checks.map(({ Status }) => Status).join()}`.trim(),
  );
}

/** Registers with the local agent what must be registered. */
export async function withAgent(api: Api, body: Fields, query = ''): Promise<void> {
  const answer = await api.request('PUT', `/v1/agent/service/register${query}`, { body });
  assert.deepEqual([answer.status, answer.text], [200, '']);
}

/** An instance as it comes from a peer. */
export function imported(service: string, node: string, status = 'passing', tags: readonly string[] = []): Instance {
  const named = { serviceId: service, serviceName: service, serviceTags: tags };
  return {
    node: {
      id: '',
      name: node,
      address: '10.9.0.1',
      datacenter: 'dc2',
      partition: 'there',
      taggedAddresses: {},
      meta: {},
    },
    service: {
      id: service,
      name: service,
      kind: '',
      tags,
      address: '',
      port: 80,
      socketPath: '',
      meta: {},
      weights: { passing: 1, warning: 1 },
      taggedAddresses: {},
    },
    checks: [{ id: 'overall-check', name: 'overall-check', status, notes: '', output: '', type: '', ...named }],
  };
}

/** Puts what a peer exports where its stream puts it; no instances: it exports none any more. */
export async function importFrom(
  api: Api,
  peer: string,
  service: string,
  instances: readonly Instance[],
  partition = 'default',
): Promise<void> {
  await api.state.write((tx) => {
    const peering = tx.find(peerings, 'name', nameEntry(partition, peer));
    assert.ok(peering !== undefined, `there is no peering ${peer}`);
    const row = {
      peeringId: peering.row.id,
      service,
      contentHash: '',
      instances,
      bytes: JSON.stringify(instances).length,
    };
    if (instances.length === 0) tx.delete(importedServices, importedServices.key(row));
    else tx.put(importedServices, row);
  });
}
