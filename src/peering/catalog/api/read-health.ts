/** `GET /v1/health/…`: instances with their checks, and checks alone; can wait. */
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import { ServiceError } from '../../../http/errors.ts';
import { jsonList } from '../../../http/v1/json-answer.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State } from '../../../state/state.ts';
import { nodeSource, type Source, serviceSource, wholeSource } from '../query/catalog-queries.ts';
import { checksOfNode, checksOfService, checkText, type FoundCheck, healthText } from '../query/catalog-to-json.ts';
import { type FoundInstance, inOrder } from '../query/resolved-instances.ts';
import type { Visible } from '../query/visibility.ts';
import { CHECK_STATUSES } from '../tables/check.ts';
import { readVisible, tagged, waiting } from './read-catalog.ts';
import { ANSWERED_BY, type WantedInstances } from './read-parameters.ts';

/** `GET /v1/health/service/:name`. */
export function readServiceHealth(
  credentials: Credentials,
  asked: Asked,
  wanted: WantedInstances,
  name: string,
): Evaluate {
  const { state } = credentials;
  const { peer, passing, failover } = wanted;
  const key = [name.toLowerCase(), peer ?? '', passing, failover?.join() ?? '', ...wanted.tags].join('\0');
  return (snapshot) => {
    const { caller, partition: named } = locate(credentials, snapshot, asked);
    authorize(caller, { resource: 'services', access: 'read', partition: named, name });
    const partition = existingPartition(snapshot, named);
    const { instances, watched, alsoWake, answeredBy } =
      failover === undefined
        ? chosenAlone(serviceSource(state, snapshot, { partition, peer }, name), wanted)
        : chosen(state, snapshot, partition, name, { ...wanted, failover });
    return {
      ...waiting(waitingAs(caller), alsoWake),
      watched,
      shareKey: `${partition}\0${key}`,
      headers: answeredBy === undefined ? [] : [ANSWERED_BY.name, answeredBy],
      body: () => jsonList(onlyPassing(instances, passing), healthText),
    };
  };
}

interface Chosen extends Source {
  readonly answeredBy?: string;
}

const chosenAlone = (source: Source, { tags }: WantedInstances): Chosen =>
  tags.length === 0 ? source : { ...source, instances: tagged(source.instances, tags) };

/** This cluster while something passes here, else the first peer where something does; else this cluster. */
function chosen(
  state: State,
  snapshot: Snapshot,
  partition: string,
  name: string,
  { tags, failover }: WantedInstances & { readonly failover: readonly string[] },
): Chosen {
  // All are waited for, in use or not: a change of any of them can make another one the answer.
  const sources = [undefined, ...failover].map((peer) => {
    const source = serviceSource(state, snapshot, { partition, peer }, name);
    return { ...source, peer, instances: tagged(source.instances, tags) };
  });
  const [local] = sources;
  const answer = sources.find(({ instances }) => instances.some(({ status }) => status === 'passing')) ?? local;
  return {
    instances: answer?.instances ?? [],
    answeredBy: answer?.instances[0]?.peer ?? answer?.peer ?? 'local',
    watched: sources.flatMap(({ watched }) => watched),
    alsoWake: sources.flatMap(({ alsoWake }) => alsoWake),
  };
}

const onlyPassing = (instances: readonly FoundInstance[], passing: boolean): readonly FoundInstance[] =>
  passing ? instances.filter(({ status }) => status === 'passing') : instances;

/** `GET /v1/health/node/:name`: the checks of a node and of what is on it. */
export function readNodeHealth(
  credentials: Credentials,
  asked: Asked,
  peer: string | undefined,
  name: string,
): Evaluate {
  return readVisible(credentials, asked, peer, {
    source: (snapshot, sought) => nodeSource(credentials.state, snapshot, sought, name),
    key: `${peer ?? ''}\0${name.toLowerCase()}`,
    ofNode: true,
    body: (visible) => jsonList(checksOf(visible), checkText),
  });
}

/** `any`, or a status. */
const STATE_NAMES: readonly string[] = ['any', ...CHECK_STATUSES, 'maintenance'];

/** `GET /v1/health/state/:state`: the checks that say so. @throws ServiceError `bad-request` */
export function listChecks(credentials: Credentials, asked: Asked, peer: string | undefined, state: string): Evaluate {
  if (!STATE_NAMES.includes(state)) {
    throw new ServiceError('bad-request', `Invalid state "${state}": want ${STATE_NAMES.join(' or ')}`);
  }
  return readVisible(credentials, asked, peer, {
    source: (snapshot, sought) => wholeSource(credentials.state, snapshot, sought),
    key: `${peer ?? ''}\0${state}`,
    spans: true,
    body: (visible) => {
      const checks = checksOf(visible);
      return jsonList(state === 'any' ? checks : checks.filter(({ check }) => check.status === state), checkText);
    },
  });
}

const checksOf = ({ nodes, instances }: Visible): FoundCheck[] => [
  ...nodes.flatMap(checksOfNode),
  ...inOrder([...instances]).flatMap(checksOfService),
];
