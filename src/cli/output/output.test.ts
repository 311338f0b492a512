import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { Shell } from '../shell.ts';
import { details, print, printable, table } from './output.ts';

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
  assert.equal(printable('é \u05d0\u05d1 👩🚀'), 'é \u05d0\u05d1 👩🚀');
  assert.equal(printable('a\u200bb\u200d\ufeff\u00ad\u3164'), 'a\\u200bb\\u200d\\ufeff\\xad\\u3164');
  assert.equal(printable('a\u{e0041}\ud800'), 'a\\u{e0041}\\ud800');
  assert.ok(!table(['A'], [['\u001b]0;x\u0007']]).includes('\u001b'));
  assert.ok(!details([['A', '\r']]).includes('\r'));
});

test('print escapes the same characters in JSON, which parses to the same value [SRV-101]', () => {
  const value = { name: 'a\u009b1m\u202e\u200b\u{e0041}\u007f\u2028\nb', nested: ['é'] };
  for (const watch of [true, false]) {
    let text = '';
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString();
        done();
      },
    });
    print({ stdout } as unknown as Shell, { json: true, watch }, value, () => '');
    assert.deepEqual(JSON.parse(text), value);
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}]/u);
    assert.ok(text.includes('\\udb40\\udc41'), text);
  }
});
