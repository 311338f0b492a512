import assert from 'node:assert/strict';
import { test } from 'node:test';
import { details, printable, table } from './output.ts';

test('table aligns columns and writes no trailing spaces', () => {
  assert.equal(
    table(
      ['NAME', 'DESCRIPTION'],
      [
        ['a', ''],
        ['longer', 'für alle'],
      ],
    ),
    'NAME    DESCRIPTION\na\nlonger  für alle\n',
  );
  assert.equal(table(['NAME'], []), 'NAME\n');
});

test('details omits properties without a value', () => {
  assert.equal(
    details([
      ['Name', 'a'],
      ['Secret ID', undefined],
      ['Description', 'x'],
    ]),
    'Name         a\nDescription  x\n',
  );
});

test('printable, table, and details escape control characters [SRV-101]', () => {
  assert.equal(printable('a\u001b[2Jb\nc\u009b1m'), 'a\\x1b[2Jb\\nc\\x9b1m');
  assert.equal(printable('a\u2028b\u202ec\u2066d\u061c'), 'a\\u2028b\\u202ec\\u2066d\\u061c');
  assert.equal(
    printable('é \u05d0\u05d1 👩\u200d🚀'),
    'é \u05d0\u05d1 👩\u200d🚀',
    'joiners are kept because some scripts need them',
  );
  assert.ok(!table(['A'], [['\u001b]0;x\u0007']]).includes('\u001b'));
  assert.ok(!details([['A', '\r']]).includes('\r'));
});
