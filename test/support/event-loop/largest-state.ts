/** A state in which every list is as long as its size allows, for measurements of the largest requests. */

import { openState, writeInBatches } from '../../../bench/support/data-directory.ts';
import {
  createOrganizationDirectory,
  numberedId,
  ORGANIZATION,
  type OrganizationSize,
  scatteredId,
  teamOfRow,
  userToken,
} from '../../../bench/support/organization-directory.ts';
import { aclTokens } from '../../../src/credentials/acl-token.ts';
import { hashSecret } from '../../../src/credentials/ids-and-secrets.ts';
import { catalogNodes } from '../../../src/peering/catalog/tables/catalog-node.ts';
import { catalogServices } from '../../../src/peering/catalog/tables/catalog-service.ts';
import { importedServices } from '../../../src/peering/catalog/tables/imported-service.ts';
import type { InstanceService } from '../../../src/peering/catalog/tables/instance.ts';
import { peerings } from '../../../src/peering/record/record.ts';
import type { State } from '../../../src/state/state.ts';
import { apiTokens } from '../../../src/team-access/tables/authentication-token.ts';
import { memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { teamMembers } from '../../../src/team-access/tables/team.ts';

export interface LargestSize extends OrganizationSize {
  readonly users: number;
  readonly aclTokens: number;
  /** Tokens of team 0 that user 0 created. */
  readonly teamTokens: number;
  /** Half of them have one name, and a fifth is on one node. */
  readonly services: number;
  /** Services imported from one peer. */
  readonly importedServices: number;
}

/** For each run of the tests. */
export const SMALLER: LargestSize = {
  teams: 2_000,
  workspaces: 1_000,
  users: 2_000,
  rowsOn: (workspace) => (workspace === 0 ? 1_900 : 5),
  aclTokens: 2_000,
  teamTokens: 500,
  services: 1_000,
  importedServices: 500,
};

/** A million rows. */
export const FULL: LargestSize = {
  teams: 10_000,
  workspaces: 40_000,
  users: 40_000,
  rowsOn: (workspace) => (workspace === 0 ? 9_900 : 14),
  aclTokens: 100_000,
  teamTokens: 10_000,
  services: 60_000,
  importedServices: 20_000,
};

export interface LargestState extends AsyncDisposable {
  readonly directory: string;
  readonly ownerToken: string;
  /** The token of a user without permissions who is in every team. */
  readonly memberToken: string;
}

/** Creates the state in a data directory. Workspace 0 has the most rows, team 0 all users, and user 0 all teams. */
export async function createLargestState(size: LargestSize): Promise<LargestState> {
  const created = await createOrganizationDirectory(size);
  await using state = await openState(created.directory);
  const member = scatteredId('user', 0);
  const membershipOf = (userId: string): string =>
    state.snapshot.list(memberships, 'user', userId, { limit: 1 })[0]?.row.id ?? '';
  await writeInBatches(state, size.teams, (tx, i) =>
    tx.put(teamMembers, { teamId: numberedId('team', i), userId: member, membershipId: membershipOf(member) }),
  );
  await writeInBatches(state, size.users, (tx, i) => {
    const userId = scatteredId('user', i);
    tx.put(teamMembers, { teamId: numberedId('team', 0), userId, membershipId: membershipOf(userId) });
  });
  await writeInBatches(state, size.aclTokens, (tx, i) => {
    tx.put(aclTokens, {
      accessorId: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      secretHash: hashSecret(`secret ${i}`),
      description: `token ${i}`,
      partition: 'default',
      grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
      createTime: new Date(tx.now).toISOString(),
    });
  });
  await writeInBatches(state, size.teamTokens, (tx, i) => {
    tx.put(apiTokens, {
      id: scatteredId('at', size.users + i),
      teamId: numberedId('team', 0),
      secretHash: hashSecret(`team secret ${i}`),
      description: `token ${i}`,
      createdBy: member,
      createTime: new Date(tx.now).toISOString(),
    });
  });
  await writeCatalog(state, size);
  return { ...created, memberToken: userToken(0) };
}

const NODES = 100;

async function writeCatalog(state: State, { services, importedServices: importedCount }: LargestSize): Promise<void> {
  const uid = (node: number): string => `00000000-0000-4000-8000-${String(node).padStart(12, '0')}`;
  await writeInBatches(state, NODES, (tx, i) => {
    tx.put(catalogNodes, { ...INSTANCE_NODE, uid: uid(i), name: `node-${i}`, id: '', checks: [] });
  });
  const serviceOf = (i: number): InstanceService => ({
    id: `id-${i}`,
    name: i % 2 === 0 ? 'service-1' : `service-${i}`,
    kind: '',
    tags: ['a', 'b'],
    address: '',
    port: 80,
    socketPath: '',
    meta: {},
    weights: { passing: 1, warning: 1 },
    taggedAddresses: {},
  });
  const check = { id: 'answers', name: 'answers', status: 'passing', notes: '', output: '', type: '' } as const;
  await writeInBatches(state, services, (tx, i) => {
    const node = uid(i % 5 === 0 ? 0 : i % NODES);
    tx.put(catalogServices, { node, partition: 'default', service: serviceOf(i), checks: [check] });
  });
  const names = Array.from({ length: importedCount }, (_, i) => `service-${i}`);
  const peeringId = '00000000-0000-4000-8000-999999999999';
  await state.write((tx) => {
    tx.put(peerings, {
      id: peeringId,
      name: LARGEST.peer,
      partition: 'default',
      role: 'accepting',
      state: 'INITIAL',
      meta: {},
      remote: { partition: '', datacenter: '' },
      epoch: 0,
      imported: names,
      exported: [],
    });
  });
  await writeInBatches(state, importedCount, (tx, i) => {
    const service = serviceOf(2 * i + 1);
    const node = { ...INSTANCE_NODE, name: `there-${i % NODES}`, id: '', datacenter: 'dc2' };
    const instance = { node, service, checks: [{ ...check, serviceId: service.id, serviceName: '', serviceTags: [] }] };
    tx.put(importedServices, {
      peeringId,
      service: service.name,
      contentHash: String(i),
      instances: [instance],
      bytes: 500,
    });
  });
}

const INSTANCE_NODE = {
  partition: 'default',
  address: '10.0.0.1',
  taggedAddresses: {},
  meta: { rack: '7' },
} as const;

/** The resources that requests name. */
export const LARGEST = {
  organization: ORGANIZATION,
  /** All users are its members. */
  team: numberedId('team', 0),
  /** Has the most rows. */
  workspace: numberedId('ws', 0),
  user: scatteredId('user', 0),
  membership: scatteredId('ou', 0),
  row: scatteredId('tws', 0),
  /** Many services are imported from it. */
  peer: 'large',
  teamOfRow: (size: OrganizationSize, row: number): string => numberedId('team', teamOfRow(size, 0, row)),
} as const;
