/** Grants as they are written on a command line: `peering:write@default=east,prod-*`. */
import { InvalidArgumentError } from 'commander';

const RESOURCES = ['peering', 'services', 'config', 'acl', 'operator'] as const;
const ACCESSES = ['read', 'write'] as const;

/** A grant as the API has it. */
export interface Grant {
  readonly Resource: (typeof RESOURCES)[number];
  readonly Access: (typeof ACCESSES)[number];
  /** A partition's name, or `*` for all; absent in a request: the token's own. */
  readonly Partition?: string;
  /** Exact names, or `prefix*`; absent: every name. */
  readonly Names?: readonly string[];
}

/** What `--help` says about grants. */
export const GRANT_HELP = `
A grant is RESOURCE:ACCESS[@PARTITION][=NAME,…]
  RESOURCE   ${RESOURCES.join(', ')}
  ACCESS     read, or write, which includes read
  PARTITION  a partition's name, or * for all; without it: the token's own
  NAME       limits a grant on peering, services or config to that name, or with a * at its end to names that
             begin so

  --grant peering:read                        every peering of the token's partition
  --grant 'peering:write@team-a=east,prod-*'  those peerings of the partition team-a
  --grant 'operator:write@*'                  quotes keep the shell from reading the *
`;

const GRANT = /^([a-z]+):([a-z]+)(?:@([^=,@]+))?(?:=(.+))?$/;
const NAME = /^(?:\*|[A-Za-z0-9][A-Za-z0-9_.-]*\*?)$/;

/** Reads a grant. @throws InvalidArgumentError */
export function parseGrant(text: string): Grant {
  const parts = GRANT.exec(text);
  if (parts === null)
    throw new InvalidArgumentError('Want RESOURCE:ACCESS[@PARTITION][=NAME,…], such as peering:read.');
  const partition = parts[3];
  const names = parts[4]?.split(',');
  const badName = names?.find((name) => !NAME.test(name));
  if (badName !== undefined) throw new InvalidArgumentError(`"${badName}" is no name; * stands only at the end.`);
  return {
    Resource: wordOf(RESOURCES, parts[1], 'resource'),
    Access: wordOf(ACCESSES, parts[2], 'access'),
    ...(partition === undefined ? {} : { Partition: partition }),
    ...(names === undefined ? {} : { Names: names }),
  };
}

/** Writes a grant so that `parseGrant` gives it back. */
export function formatGrant({ Resource, Access, Partition, Names }: Grant): string {
  const where = Partition === undefined ? '' : `@${Partition}`;
  return `${Resource}:${Access}${where}${Names === undefined ? '' : `=${Names.join(',')}`}`;
}

function wordOf<const T extends string>(words: readonly T[], text: string | undefined, what: string): T {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new InvalidArgumentError(`"${text}" is no ${what}; want one of ${words.join(', ')}.`);
  return word;
}
