/** What a request for a list leaves out of it: the query parameters `state`, `name-prefix`, `after` and `limit`. */
import { Type } from 'typebox';
import { partitionKey } from '../../credentials/partition.ts';
import { ServiceError } from '../../http/errors.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { CONSUL_STATES, STATES } from '../record/record-to-json.ts';

const LIMIT = countParameter('limit', 'At most so many peerings.');

const NAME_PREFIX: Parameter = {
  name: 'name-prefix',
  description: 'Only peerings whose name begins so; case does not matter.',
  schema: Type.String(),
};

const AFTER: Parameter = {
  name: 'after',
  description:
    'Only peerings behind this name. With partition=* a name can be there more than once: NAME/PARTITION is the one behind which to go on.',
  schema: Type.String(),
};

const stateParameter = (consul: boolean): Parameter => ({
  name: 'state',
  description: 'Only peerings in this state.',
  schema: consul ? Type.Enum([...CONSUL_STATES]) : Type.Enum([...STATES]),
});

/** The parameters, for the API description. */
export const listParameters = (consul: boolean): readonly Parameter[] => [
  stateParameter(consul),
  NAME_PREFIX,
  AFTER,
  LIMIT,
];

/** What is wanted of a list. Names are in the form in which they are compared. */
export interface ListPage {
  /** As it is shown. */
  readonly state?: string;
  /** Empty: every name. */
  readonly namePrefix: string;
  /** Where the page before ended. */
  readonly after?: { readonly name: string; readonly partition?: string };
  readonly limit?: number;
}

const WHOLE: ListPage = { namePrefix: '' };

/** Empty parameters count as absent. @throws ServiceError `bad-request` */
export function readListPage(query: Query, consul: boolean): ListPage {
  if (query.size === 0) return WHOLE;
  const state = readState(query, consul);
  const [name = '', partition] = (query.get(AFTER.name) ?? '').split('/');
  const limit = readCount(query, LIMIT);
  return {
    ...(state !== undefined && { state }),
    namePrefix: (query.get(NAME_PREFIX.name) ?? '').toLowerCase(),
    ...(name !== '' && {
      after: { name: name.toLowerCase(), ...(partition && { partition: partitionKey(partition) }) },
    }),
    ...(limit !== undefined && { limit }),
  };
}

function readState(query: Query, consul: boolean): string | undefined {
  const given = query.get('state') ?? '';
  if (given === '') return undefined;
  const states: readonly string[] = consul ? CONSUL_STATES : STATES;
  const state = given.toUpperCase();
  if (states.includes(state)) return state;
  throw new ServiceError('bad-request', `Invalid state "${given}": want ${states.join(' or ')}`);
}
