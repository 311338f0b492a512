/** The command-line syntax of grants: `peering:write@default=east,prod-*`. */
import { InvalidArgumentError } from 'commander';

const RESOURCES = ['peering', 'services', 'config', 'acl', 'operator'] as const;
const ACCESSES = ['read', 'write'] as const;

export interface Grant {
  readonly Resource: (typeof RESOURCES)[number];
  readonly Access: (typeof ACCESSES)[number];
  /** A partition's name, or `*` for all. The default is the token's own partition. */
  readonly Partition?: string;
  /** Exact names, or `prefix*`. The default is every name. */
  readonly Names?: readonly string[];
}

export const GRANT_HELP = `
A grant is RESOURCE:ACCESS[@PARTITION][=NAME,…]
  RESOURCE   ${RESOURCES.join(', ')}
  ACCESS     read or write; write includes read
  PARTITION  a partition, or * for all partitions (default: the token's own)
  NAME       limits a grant on peering, services, or config to this name; with a * at the end, to names with
             this prefix (default: all names)

Examples:
  --grant peering:read                        all peerings in the token's partition
  --grant 'peering:write@team-a=east,prod-*'  the peerings east and prod-* in the partition team-a
  --grant 'operator:write@*'                  all partitions; the quotes stop the shell from expanding *
`;

const GRANT = /^([a-z]+):([a-z]+)(?:@([^=,@]+))?(?:=(.+))?$/;
const NAME = /^(?:\*|[A-Za-z0-9][A-Za-z0-9_.-]*\*?)$/;

/** Parses a grant. @throws InvalidArgumentError */
export function parseGrant(text: string): Grant {
  const parts = GRANT.exec(text);
  if (parts === null)
    throw new InvalidArgumentError('Want RESOURCE:ACCESS[@PARTITION][=NAME,…], such as peering:read.');
  const partition = parts[3];
  const names = parts[4]?.split(',');
  const badName = names?.find((name) => !NAME.test(name));
  if (badName !== undefined)
    throw new InvalidArgumentError(`"${badName}" is not a valid name; * may appear only at the end.`);
  return {
    Resource: parseWord(RESOURCES, parts[1], 'resource'),
    Access: parseWord(ACCESSES, parts[2], 'access'),
    ...(partition === undefined ? {} : { Partition: partition }),
    ...(names === undefined ? {} : { Names: names }),
  };
}

/** Formats a grant. The inverse of `parseGrant`. */
export function formatGrant({ Resource, Access, Partition, Names }: Grant): string {
  const partition = Partition === undefined ? '' : `@${Partition}`;
  return `${Resource}:${Access}${partition}${Names === undefined ? '' : `=${Names.join(',')}`}`;
}

function parseWord<const T extends string>(words: readonly T[], text: string | undefined, what: string): T {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new InvalidArgumentError(`Unknown ${what} "${text}"; want one of ${words.join(', ')}.`);
  return word;
}
