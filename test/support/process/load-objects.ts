/** The objects that the load clients write: ACL tokens and partitions, with their version in the description. */
import assert from 'node:assert/strict';
import type { AuditEntryJson } from '../../../src/audit/read-audit.ts';
import type { Version } from './consistency-checker.ts';
import type { Answer } from './server.ts';

/** A kind of object: how to write objects of this kind, and how to read their versions. */
export interface ObjectKind {
  readonly listPath: string;
  /** The request that writes the version, or deletes the object. */
  request(key: string, version: Version, id: string | undefined): [method: string, path: string, body?: unknown];
  /** The ID that later requests need, if it is not the key. */
  idOf(answer: Answer): string | undefined;
  /** The key and the version of a listed object. `undefined` for an object that no load client wrote. */
  read(object: ObjectJson): readonly [key: string, version: number] | undefined;
}

/** The fields of a token or a partition that the load clients read. */
export interface ObjectJson {
  readonly AccessorID?: string;
  readonly Name?: string;
  readonly Description: string;
}

/** ACL tokens. The description contains the key, because the writer does not know the ID if the response is lost. */
export const TOKENS: ObjectKind = {
  listPath: '/v1/acl/tokens',
  request(key, version, id) {
    if (version === 'none') return ['DELETE', `/v1/acl/token/${id}`];
    return ['PUT', `/v1/acl/token${id === undefined ? '' : `/${id}`}`, { Description: `${key} ${version}` }];
  },
  idOf: (answer) => answer.json<ObjectJson>().AccessorID,
  read({ Description }) {
    const parts = /^(t\d+-\d+) (\d+)$/.exec(Description);
    return parts === null ? undefined : [parts[1] ?? '', Number(parts[2])];
  },
};

/** Partitions. The key is the name. */
export const PARTITIONS: ObjectKind = {
  listPath: '/v1/partitions',
  request(key, version) {
    const path = `/v1/partition/${key}`;
    return version === 'none' ? ['DELETE', path] : ['PUT', path, { Description: `${version}` }];
  },
  idOf: () => undefined,
  read: ({ Name = '', Description }) => (Name === 'default' ? undefined : [Name, Number(Description)]),
};

/** Returns the versions of the objects in the response to a list. */
export function versionsOf(kind: ObjectKind, answer: Answer): Map<string, number> {
  return new Map(
    answer
      .json<ObjectJson[]>()
      .map((object) => kind.read(object))
      .filter((read) => read !== undefined),
  );
}

/** Returns the subject of the object's audit entries. */
export const subjectOf = ({ AccessorID, Name = '' }: ObjectJson): string => AccessorID ?? Name;

/**
 * Returns the tokens and partitions that result from the changes in the audit log, by subject.
 * @throws AssertionError if an entry does not start with the object that the previous entry ended with
 */
export function replayAudit(newestFirst: readonly AuditEntryJson[]): Map<string, ObjectJson> {
  const objects = new Map<string, ObjectJson>();
  for (const { Type, Subject, Before, After } of newestFirst.toReversed()) {
    if (Type !== 'acl-token' && Type !== 'partition') continue;
    assert.deepEqual(Before, objects.get(Subject) ?? null, `the log of ${Subject} has a gap`);
    if (After === null) objects.delete(Subject);
    else objects.set(Subject, After as ObjectJson);
  }
  return objects;
}
