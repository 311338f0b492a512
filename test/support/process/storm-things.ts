/** The things that the clients of a storm write: tokens and partitions, each with a version in its description. */
import type { Version } from './ledger.ts';
import type { Answer } from './server.ts';

/** Something with a name that is written, changed and removed: a token or a partition. */
export interface Kind {
  readonly listPath: string;
  /** The request that gives the thing its version, or removes it. */
  request(key: string, version: Version, id: string | undefined): [method: string, path: string, body?: unknown];
  /** What the thing is called in later requests. */
  idOf(answer: Answer): string | undefined;
  /** The name and the version of a listed document; `undefined` for what no client wrote. */
  read(document: Document): readonly [key: string, version: number] | undefined;
}

/** What the API shows of a token or a partition, as far as clients look at it. */
export interface Document {
  readonly AccessorID?: string;
  readonly Name?: string;
  readonly Description: string;
}

/** Named in their descriptions: a token whose creation was not answered has no other name that its writer knows. */
export const TOKENS: Kind = {
  listPath: '/v1/acl/tokens',
  request(key, version, id) {
    if (version === 'none') return ['DELETE', `/v1/acl/token/${id}`];
    return ['PUT', `/v1/acl/token${id === undefined ? '' : `/${id}`}`, { Description: `${key} ${version}` }];
  },
  idOf: (answer) => answer.json<Document>().AccessorID,
  read({ Description }) {
    const parts = /^(t\d+-\d+) (\d+)$/.exec(Description);
    return parts === null ? undefined : [parts[1] ?? '', Number(parts[2])];
  },
};

/** Named by themselves. */
export const PARTITIONS: Kind = {
  listPath: '/v1/partitions',
  request(key, version) {
    const path = `/v1/partition/${key}`;
    return version === 'none' ? ['DELETE', path] : ['PUT', path, { Description: `${version}` }];
  },
  idOf: () => undefined,
  read: ({ Name = '', Description }) => (Name === 'default' ? undefined : [Name, Number(Description)]),
};

/** The things of a list with their versions. */
export function versionsOf(kind: Kind, answer: Answer): Map<string, number> {
  return new Map(
    answer
      .json<Document[]>()
      .map((document) => kind.read(document))
      .filter((read) => read !== undefined),
  );
}

/** What the audit log calls it. */
export const subjectOf = ({ AccessorID, Name = '' }: Document): string => AccessorID ?? Name;
