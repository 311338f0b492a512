/**
 * What lies where in etcd, everything below one prefix:
 *
 *     head                          the head record; its mod_revision guards every commit
 *     gen/<generation>/<table>/<key>    rows, of the current generation when the head names it
 *     gen/<generation>/~<table>/<key>   rows of store-only tables: behind all others, so that a load's range ends before
 *     writers/<incarnation>         number of that incarnation's last commit (not leased: were it to run out with its
 *                                   node, a commit that was made would look as if it had not been)
 *     nodes/<name>                  leased: a live node
 *     turn/<name>                   leased: that node lost a race for a commit and waits for its turn
 *     status/<name>/<slot>          leased: a status row
 */
import type { Operation, StoredRow } from '../engine.ts';

/** A range of keys: `key` inclusive, `rangeEnd` exclusive. */
export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

/** A key of ours, taken apart. */
export type ParsedKey =
  | { readonly kind: 'head' }
  | { readonly kind: 'row'; readonly generation: string; readonly table: string; readonly key: string }
  | { readonly kind: 'writer'; readonly incarnation: string }
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'turn'; readonly name: string }
  | { readonly kind: 'status'; readonly name: string; readonly slot: string }
  | { readonly kind: 'other' };

export interface Keys {
  readonly head: Uint8Array;
  readonly all: KeyRange;
  readonly writers: KeyRange;
  readonly nodes: KeyRange;
  readonly turns: KeyRange;
  readonly statuses: KeyRange;
  readonly generations: KeyRange;
  writer(incarnation: string): Uint8Array;
  node(name: string): Uint8Array;
  turn(name: string): Uint8Array;
  status(name: string, slot: string): Uint8Array;
  generation(generation: string): KeyRange;
  /** The rows of a generation that a load reads. */
  loaded(generation: string): KeyRange;
  row(generation: string, row: Pick<Operation, 'table' | 'key'>): Uint8Array;
  /** The keys of a table from `from` (inclusive) to `to` (exclusive). */
  table(generation: string, table: string, from?: string, to?: string): KeyRange;
  parse(key: Uint8Array): ParsedKey;
  /** Reads rows of one generation: for a load, where every key is known to be one. */
  rowReader(generation: string): (key: Uint8Array, value: Uint8Array) => StoredRow;
}

const STORE_ONLY = '~';

/** The keys below `prefix`; rows of the tables `storeOnly` lie behind those that a load reads. */
export function createKeys(prefix: string, storeOnly: ReadonlySet<string>): Keys {
  const under = (path: string): KeyRange => ({ key: bytes(prefix + path), rangeEnd: endOf(bytes(prefix + path)) });
  const tablePath = (generation: string, table: string): string =>
    `${prefix}gen/${generation}/${storeOnly.has(table) ? STORE_ONLY : ''}${table}/`;

  return {
    head: bytes(`${prefix}head`),
    all: under(''),
    writers: under('writers/'),
    nodes: under('nodes/'),
    turns: under('turn/'),
    statuses: under('status/'),
    generations: under('gen/'),
    writer: (incarnation) => bytes(`${prefix}writers/${incarnation}`),
    node: (name) => bytes(`${prefix}nodes/${encodeURIComponent(name)}`),
    turn: (name) => bytes(`${prefix}turn/${encodeURIComponent(name)}`),
    status: (name, slot) => bytes(`${prefix}status/${encodeURIComponent(name)}/${slot}`),
    generation: (generation) => under(`gen/${generation}/`),
    loaded: (generation) => ({
      key: bytes(`${prefix}gen/${generation}/`),
      rangeEnd: bytes(`${prefix}gen/${generation}/${STORE_ONLY}`),
    }),
    row: (generation, { table, key }) => bytes(tablePath(generation, table) + key),
    table(generation, table, from, to) {
      const path = tablePath(generation, table);
      return { key: bytes(path + (from ?? '')), rangeEnd: to === undefined ? endOf(bytes(path)) : bytes(path + to) };
    },
    parse: (key) => parse(text(key).slice(prefix.length)),
    rowReader: (generation) => createRowReader(`${prefix}gen/${generation}/`.length),
  };
}

/** A range's next start after `key`. */
export function after(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

export function bytes(value: string): Uint8Array {
  return Buffer.from(value, 'utf8');
}

/** UTF-8 to text; a Buffer's own decoder is the quickest for short strings. */
export function text(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
}

/** The end of the range of all keys that start with `prefix`; a prefix here never ends in 0xff. */
function endOf(prefix: Uint8Array): Uint8Array {
  const end = Uint8Array.from(prefix);
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return end;
}

function parse(path: string): ParsedKey {
  if (path === 'head') return { kind: 'head' };
  const [kind, first, rest] = split3(path);
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
    case 'turn':
      return { kind: 'turn', name: decodeName(first) };
    case 'status':
      return { kind: 'status', name: decodeName(first), slot: rest };
    default:
      return { kind: 'other' };
  }
}

/** A name that somebody else wrote below the prefix need not be encoded. */
function decodeName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `a/b/c/d` → a, b, c/d. */
function split3(path: string): readonly [string, string, string] {
  const one = path.indexOf('/');
  if (one < 0) return [path, '', ''];
  const two = path.indexOf('/', one + 1);
  if (two < 0) return [path.slice(0, one), path.slice(one + 1), ''];
  return [path.slice(0, one), path.slice(one + 1, two), path.slice(two + 1)];
}

function tableName(segment: string): string {
  return segment.startsWith(STORE_ONLY) ? segment.slice(STORE_ONLY.length) : segment;
}

/** Rows come in key order, so the table of the last row is nearly always that of the next: its string is kept. */
function createRowReader(prefixLength: number): (key: Uint8Array, value: Uint8Array) => StoredRow {
  let table = '';
  let start = '\0';
  return (key, value) => {
    const path = text(key).slice(prefixLength);
    if (!path.startsWith(start)) {
      const at = path.indexOf('/');
      table = tableName(path.slice(0, at));
      start = path.slice(0, at + 1);
    }
    return { table, key: path.slice(start.length), value: text(value) };
  };
}
