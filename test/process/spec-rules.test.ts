/**
 * Compares the rules of `docs/spec` with their citations in the code. `docs/spec/untested.txt` lists the rules that no
 * test cites. `UPDATE_UNTESTED=1 npx node --test test/process/spec-rules.test.ts` writes that file.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { citationsIn, compareIds, definitionsIn, numberingErrors } from '../support/process/spec-rules.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SPEC = 'docs/spec';
const UNTESTED = path.join(ROOT, SPEC, 'untested.txt');
/** Folders whose code cites rules. */
const CODE = ['src', 'test', 'soak'];
/** The files of this test, which contain examples of citations. */
const isOwnFile = (file: string): boolean => path.basename(file).startsWith('spec-rules.');
/** Whether a citation in the file means that the rule is tested. */
const isTestFile = (file: string): boolean => /\.(test|suite|long)\.ts$/.test(file) || file.startsWith('test/support/');

interface Source {
  /** The path from the root of the project, with `/`. */
  readonly file: string;
  readonly text: string;
}

function sourcesIn(folder: string, ending: string): readonly Source[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name.replaceAll(path.sep, '/')}`)
    .map((file) => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') }));
}

const pages = sourcesIn(SPEC, '.md').filter(({ file }) => file !== `${SPEC}/README.md`);
const definitions = pages.flatMap(({ text }) => definitionsIn(text));
const defined = new Set(definitions.map(({ id }) => id));
const code = CODE.flatMap((folder) => sourcesIn(folder, '.ts')).filter(({ file }) => !isOwnFile(file));
const tested = new Set(code.filter(({ file }) => isTestFile(file)).flatMap(({ text }) => citationsIn(text)));

describe('the rules of docs/spec', () => {
  for (const { file, text } of pages) {
    test(`are numbered from 1 without duplicates or gaps in ${file}`, () => {
      assert.ok(definitionsIn(text).length > 0, 'the page defines no rule');
      assert.deepEqual(numberingErrors(text), []);
    });
  }

  test('have a prefix that no other page uses', () => {
    assert.equal(defined.size, definitions.length);
  });

  test('are defined if the code or a page cites them', () => {
    const unknown = [...code, ...pages].flatMap(({ file, text }) =>
      citationsIn(text)
        .filter((id) => !defined.has(id))
        .map((id) => `${file}: [${id}]`),
    );
    assert.deepEqual(unknown, []);
  });

  test('are either cited by a test or listed in untested.txt', () => {
    const expected = definitions
      .filter(({ id, isWithdrawn }) => !isWithdrawn && !tested.has(id))
      .map(({ id }) => id)
      .toSorted(compareIds);
    if (process.env['UPDATE_UNTESTED'] === '1') writeFileSync(UNTESTED, expected.map((id) => `${id}\n`).join(''));
    const listed = readFileSync(UNTESTED, 'utf8')
      .trim()
      .split('\n')
      .filter((id) => id !== ''); // The file can be empty.
    const missing = expected.filter((id) => !listed.includes(id));
    assert.deepEqual(missing, [], 'no test cites these rules: name a test after each');
    const unneeded = listed.filter((id) => !expected.includes(id));
    assert.deepEqual(
      unneeded,
      [],
      'a test cites these rules, or they do not exist: delete their lines in untested.txt',
    );
    assert.deepEqual(listed, expected, 'untested.txt is sorted by prefix and number, without duplicates');
  });
});

describe('citationsIn', () => {
  const cases = [
    ['returns the number in brackets', '[PEER-12]', ['PEER-12']],
    ['returns the numbers of a list', '[V1-1, ACL-2 and ACL-4]', ['V1-1', 'ACL-2', 'ACL-4']],
    ['expands ranges', '[PEER-1, PEER-3 to PEER-5]', ['PEER-1', 'PEER-3', 'PEER-4', 'PEER-5']],
    ['reads on after a line break in a comment', '[TEAM-6 to\n * TEAM-7,\n * TEAM-9]', ['TEAM-6', 'TEAM-7', 'TEAM-9']],
    ['returns the text of a link', '([SVC-65](services.md))', ['SVC-65']],
    ['ignores definitions, character classes and indexes', '**[PEER-12]** /[A-Z0-9-]/ list[0]', []],
  ] as const;
  for (const [name, text, expected] of cases) {
    test(name, () => assert.deepEqual(citationsIn(text), expected));
  }
});

describe('numberingErrors', () => {
  const page = (...ids: readonly string[]): string => ids.map((id) => `**[${id}]** The server answers.\n`).join('');
  test('accepts numbers in any order', () => {
    assert.deepEqual(numberingErrors(page('PEER-1', 'PEER-3', 'PEER-2')), []);
  });
  test('reports duplicates, gaps, and a second prefix', () => {
    assert.deepEqual(numberingErrors(page('PEER-1', 'PEER-4', 'PEER-4', 'PEER-2')), [
      'PEER-4 is defined twice',
      'PEER-3 is missing',
    ]);
    assert.deepEqual(numberingErrors(page('PEER-1', 'ACL-1')), ['the page has several prefixes: PEER, ACL']);
  });
});

describe('definitionsIn', () => {
  test('reports rules that are withdrawn', () => {
    assert.deepEqual(definitionsIn('**[PEER-1]** Withdrawn.\n| **[PEER-2]** | a row |'), [
      { id: 'PEER-1', isWithdrawn: true },
      { id: 'PEER-2', isWithdrawn: false },
    ]);
  });
});
