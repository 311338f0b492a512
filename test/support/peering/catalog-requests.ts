/** Catalog requests to an API. A function named `must…` fails the test unless the request succeeds. */
import assert from 'node:assert/strict';
import { importedServices } from '../../../src/peering/catalog/tables/imported-service.ts';
import type { Instance } from '../../../src/peering/catalog/tables/instance.ts';
import { nameEntry, peerings } from '../../../src/peering/record/record.ts';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';

/** The fields of a body. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a check that tests read. */
export interface CheckJson {
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

/** The fields of an instance in an answer of `/v1/health`. */
export interface HealthEntryJson {
  readonly Node: { readonly Node: string; readonly Address: string; readonly PeerName?: string };
  readonly Service: {
    readonly ID: string;
    readonly Service: string;
    readonly Address: string;
    readonly PeerName?: string;
    readonly Partition: string;
  };
  readonly Checks: readonly CheckJson[];
}

/** Requests to register the service `web` on the node `n1`. @param fields replace those of the body */
export const requestRegister = (api: Api, fields: Fields = {}, options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', '/v1/catalog/register', {
    ...options,
    body: { Node: 'n1', Address: '10.0.0.1', Service: { Service: 'web', Port: 80 }, ...fields },
  });

/** Registers a service. */
export async function mustRegister(api: Api, fields?: Fields): Promise<void> {
  const answer = await requestRegister(api, fields);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
}

export const requestDeregister = (api: Api, fields: Fields, options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', '/v1/catalog/deregister', { ...options, body: fields });

/** Deregisters a service, a check, or a node. */
export async function mustDeregister(api: Api, fields: Fields): Promise<void> {
  const answer = await requestDeregister(api, fields);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
}

/** Returns the body of a successful `GET`. */
export async function mustGet<T>(api: Api, path: string, options?: RequestOptions): Promise<T> {
  const answer = await api.request('GET', path, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<T>();
}

/** Returns the instances of a service, as `node/id status,status`. */
export async function healthOf(api: Api, service: string, query = '', options?: RequestOptions): Promise<string[]> {
  const entries = await mustGet<HealthEntryJson[]>(api, `/v1/health/service/${service}${query}`, options);
  return entries.map(({ Node, Service, Checks }) =>
    `${Node.Node}/${Service.ID} ${Checks.map(({ Status }) => Status).join()}`.trim(),
  );
}

/** Registers a service with the local agent. */
export async function mustRegisterWithAgent(api: Api, body: Fields, query = ''): Promise<void> {
  const answer = await api.request('PUT', `/v1/agent/service/register${query}`, { body });
  assert.deepEqual([answer.status, answer.text], [200, '']);
}

/** Creates an instance as a peer sends it. */
export function importedInstance(
  service: string,
  node: string,
  status = 'passing',
  tags: readonly string[] = [],
): Instance {
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

/** Writes an imported service as a stream does. Without instances, deletes it. */
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
