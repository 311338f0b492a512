/**
 * The layout of the keys in etcd, all below one prefix [ETCD-16]:
 *
 *     head                              the head record; every commit compares its mod_revision
 *     gen/<generation>/<table>/<key>    a row; readers use the generation that the head names
 *     gen/<generation>/~<table>/<key>   a row of a store-only table, sorted after the range that a load reads [ETCD-17]
 *     writers/<incarnation>             the number of the incarnation's last commit, without a lease [ETCD-18]
 *     nodes/<name>                      a live node (leased)
 *     formats/<name>                    the row formats that a node reads, without a lease [ETCD-89]
 *     turn/<name>                       the ticket of a node that waits for its turn to commit (leased)
 *     status/<name>/<slot>              a status row (leased)
 */
import type { Operation, StoredRow } from '../engine.ts';

/** A range of keys: `key` inclusive, `rangeEnd` exclusive. */
export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

/** The parts of a key. `other` is a key that the engine does not recognize and ignores [ETCD-15]. */
export type ParsedKey =
  | { readonly kind: 'head' }
  | { readonly kind: 'row'; readonly generation: string; readonly table: string; readonly key: string }
  | { readonly kind: 'writer'; readonly incarnation: string }
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'formats'; readonly name: string }
  | { readonly kind: 'ticket'; readonly name: string }
  | { readonly kind: 'status'; readonly name: string; readonly slot: string }
  | { readonly kind: 'other' };

export interface Keys {
  readonly head: Uint8Array;
  readonly all: KeyRange;
  readonly writers: KeyRange;
  readonly nodes: KeyRange;
  readonly formats: KeyRange;
  readonly tickets: KeyRange;
  readonly statuses: KeyRange;
  readonly generations: KeyRange;
  writer(incarnation: string): Uint8Array;
  node(name: string): Uint8Array;
  nodeFormats(name: string): Uint8Array;
  ticket(name: string): Uint8Array;
  status(name: string, slot: string): Uint8Array;
  generation(generation: string): KeyRange;
  /** The rows of a generation that a load reads: all except those of store-only tables. */
  loadedRows(generation: string): KeyRange;
  row(generation: string, row: Pick<Operation, 'table' | 'key'>): Uint8Array;
  /** The keys of a table from `from` (inclusive) to `to` (exclusive). */
  tableRange(generation: string, table: string, from?: string, to?: string): KeyRange;
  parse(key: Uint8Array): ParsedKey;
  /** Returns a decoder for rows of one generation. It accepts no other keys, and is faster than `parse`. */
  rowDecoder(generation: string): (key: Uint8Array, value: Uint8Array) => StoredRow;
}

const STORE_ONLY = '~';

/** The folders below the prefix. */
export const OWN_FOLDERS = ['formats/', 'gen/', 'nodes/', 'status/', 'turn/', 'writers/'] as const;

/** Returns the keys below `prefix`, which ends in `/`. */
export function createKeys(prefix: string, storeOnly: ReadonlySet<string>): Keys {
  const rangeBelow = (path: string): KeyRange => ({
    key: encodeUtf8(prefix + path),
    rangeEnd: prefixEnd(encodeUtf8(prefix + path)),
  });
  const tablePath = (generation: string, table: string): string =>
    `${prefix}gen/${generation}/${storeOnly.has(table) ? STORE_ONLY : ''}${table}/`;

  return {
    head: encodeUtf8(`${prefix}head`),
    all: rangeBelow(''),
    writers: rangeBelow('writers/'),
    nodes: rangeBelow('nodes/'),
    formats: rangeBelow('formats/'),
    tickets: rangeBelow('turn/'),
    statuses: rangeBelow('status/'),
    generations: rangeBelow('gen/'),
    writer: (incarnation) => encodeUtf8(`${prefix}writers/${incarnation}`),
    node: (name) => encodeUtf8(`${prefix}nodes/${encodeURIComponent(name)}`),
    nodeFormats: (name) => encodeUtf8(`${prefix}formats/${encodeURIComponent(name)}`),
    ticket: (name) => encodeUtf8(`${prefix}turn/${encodeURIComponent(name)}`),
    status: (name, slot) => encodeUtf8(`${prefix}status/${encodeURIComponent(name)}/${slot}`),
    generation: (generation) => rangeBelow(`gen/${generation}/`),
    loadedRows: (generation) => ({
      key: encodeUtf8(`${prefix}gen/${generation}/`),
      rangeEnd: encodeUtf8(`${prefix}gen/${generation}/${STORE_ONLY}`),
    }),
    row: (generation, { table, key }) => encodeUtf8(tablePath(generation, table) + key),
    tableRange(generation, table, from, to) {
      const path = tablePath(generation, table);
      return {
        key: encodeUtf8(path + (from ?? '')),
        rangeEnd: to === undefined ? prefixEnd(encodeUtf8(path)) : encodeUtf8(path + to),
      };
    },
    parse: (key) => parse(decodeUtf8(key).slice(prefix.length)),
    rowDecoder: (generation) => createRowDecoder(`${prefix}gen/${generation}/`.length),
  };
}

/** Returns the smallest key after `key`, the start of the next page of a range. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

export function encodeUtf8(value: string): Uint8Array {
  return Buffer.from(value, 'utf8');
}

/** Decodes UTF-8 with Buffer's decoder, the fastest one for short strings. */
export function decodeUtf8(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
}

/** Returns the end of the range of all keys that start with `prefix`, which never ends in 0xff here. */
export function prefixEnd(prefix: Uint8Array): Uint8Array {
  const end = Uint8Array.from(prefix);
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return end;
}

function parse(path: string): ParsedKey {
  if (path === 'head') return { kind: 'head' };
  const [kind, first, rest] = splitPath(path);
  switch (kind) {
    case 'gen': {
      const at = rest.indexOf('/');
      if (at < 0) return { kind: 'other' };
      return { kind: 'row', generation: first, table: tableName(rest.slice(0, at)), key: rest.slice(at + 1) };
    }
    case 'writers':
      return { kind: 'writer', incarnation: first };
    case 'nodes':
      return { kind: 'node', name: decodeName(first) };
    case 'formats':
      return { kind: 'formats', name: decodeName(first) };
    case 'turn':
      return { kind: 'ticket', name: decodeName(first) };
    case 'status':
      return { kind: 'status', name: decodeName(first), slot: rest };
    default:
      return { kind: 'other' };
  }
}

/** Decodes a node name. A foreign key may contain a segment that is not percent-encoded. */
function decodeName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `a/b/c/d` → a, b, c/d. */
function splitPath(path: string): readonly [string, string, string] {
  const one = path.indexOf('/');
  if (one < 0) return [path, '', ''];
  const two = path.indexOf('/', one + 1);
  if (two < 0) return [path.slice(0, one), path.slice(one + 1), ''];
  return [path.slice(0, one), path.slice(one + 1, two), path.slice(two + 1)];
}

function tableName(segment: string): string {
  return segment.startsWith(STORE_ONLY) ? segment.slice(STORE_ONLY.length) : segment;
}

/** Reuses the table name of the last row, because rows arrive in key order and mostly share it. */
function createRowDecoder(prefixLength: number): (key: Uint8Array, value: Uint8Array) => StoredRow {
  let table = '';
  let start = '\0';
  return (key, value) => {
    const path = decodeUtf8(key).slice(prefixLength);
    if (!path.startsWith(start)) {
      const at = path.indexOf('/');
      table = tableName(path.slice(0, at));
      start = path.slice(0, at + 1);
    }
    return { table, key: path.slice(start.length), value: decodeUtf8(value) };
  };
}
