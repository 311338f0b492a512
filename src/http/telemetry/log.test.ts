import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog, type LogOptions } from './log.ts';

function logged(options: Partial<LogOptions>, write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  const destination = {
    write(line: string) {
      text += line;
    },
  };
  write(createLog({ level: 'info', format: 'json', destination, ...options }));
  return text;
}

describe('createLog', () => {
  it('writes JSON lines with time, level, fields and message, and without host name and process ID [SRV-73]', () => {
    const line = JSON.parse(logged({}, (log) => log.info({ node: 'a' }, 'ready'))) as Record<string, unknown>;
    assert.deepEqual(Object.keys(line), ['level', 'time', 'node', 'msg']);
    assert.deepEqual([line['level'], line['node'], line['msg']], ['info', 'a', 'ready']);
    assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('omits lines below its level, which may change', () => {
    const text = logged({}, (log) => {
      log.debug('before');
      log.level = 'debug';
      log.debug('after');
    });
    assert.doesNotMatch(text, /before/);
    assert.match(text, /after/);
  });

  it('writes only the name, message, code, stack and causes of an error [SRV-74]', () => {
    const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), {
      code: 'E_X',
      secret: 's3cr3t',
    });
    const text = logged({}, (log) => log.error({ error }, 'failed'));
    const line = JSON.parse(text) as {
      error: { name: string; code: string; cause: { name: string; message: string } };
    };
    assert.deepEqual([line.error.name, line.error.code], ['Error', 'E_X']);
    assert.deepEqual([line.error.cause.name, line.error.cause.message], ['TypeError', 'inner']);
    assert.doesNotMatch(text, /s3cr3t/);
  });

  it('accepts errors that are their own cause, and thrown values that are not errors', () => {
    const loop = new Error('loop');
    loop.cause = loop;
    assert.match(
      logged({}, (log) => log.error({ error: loop }, 'failed')),
      /loop/,
    );
    assert.match(
      logged({}, (log) => log.error({ error: 'just text' }, 'failed')),
      /just text/,
    );
    assert.match(
      logged({ format: 'text' }, (log) => log.error({ error: 7 }, 'failed')),
      / error="7"\n$/,
    );
  });

  it('writes text lines with time, level, message and fields [SRV-73]', () => {
    const text = logged({ format: 'text' }, (log) => log.warn({ node: 'a', silentMs: 12, why: 'two words' }, 'silent'));
    assert.match(text, /^\d\d:\d\d:\d\d\.\d{3} WARN {2}silent node=a silentMs=12 why="two words"\n$/);
  });

  it('writes one text line for an event with line breaks, and indents the stack of an error [SRV-73]', () => {
    const text = logged({ format: 'text' }, (log) => log.info({ name: 'a\nb' }, 'two\nlines\r\n12:00 FAKE'));
    assert.equal(text.split('\n').length, 2);
    const withStack = logged({ format: 'text' }, (log) => log.error({ error: new Error('bad') }, 'failed'));
    const [first, second, third] = withStack.split('\n');
    assert.match(String(first), /ERROR failed$/);
    assert.match(String(second), /^ {4}Error: bad$/);
    assert.match(String(third), /^ {4}at /);
  });
});
