/**
 * The log: one line for each event, as JSON or as text. The log redacts nothing, so callers must never pass secrets.
 * It writes only the name, message, code, stack and causes of an error. [SRV-73] [SRV-74]
 */
import pino, { type DestinationStream, type Logger } from 'pino';
import { LOG_BACKLOG_BYTES_MAX } from '../limits.ts';

/** pino's logger: `log.info({ field }, 'message')`. `log.level` may change at any time. */
export type Log = Logger;

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'text' | 'json';
  /** Receives whole lines. Default: standard error. */
  readonly destination?: DestinationStream;
}

/** Depth of logged causes. Bounds errors that are their own cause. */
const CAUSES_MAX = 5;

export function createLog({ level, format, destination = standardError() }: LogOptions): Log {
  const lines = format === 'json' ? destination : { write: (line: string) => destination.write(toTextLine(line)) };
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: (error: unknown) => errorToJson(error, CAUSES_MAX), err: () => undefined },
    },
    lines,
  );
}

/** Returns an unbuffered stream, because the last line before a crash matters most. [SRV-77] */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: LOG_BACKLOG_BYTES_MAX });
  // If the disk is full, the server keeps running, and logging resumes when there is space.
  stream.on('error', () => undefined);
  return stream;
}

function errorToJson(error: unknown, causesLeft: number): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined || causesLeft === 0 ? {} : { cause: errorToJson(error.cause, causesLeft - 1) }),
  };
}

/** Converts a JSON line: `12:01:02.345 WARN  the store is silent node=a silenceMs=12000`, then the indented stack. */
function toTextLine(json: string): string {
  const { time, level, msg, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${oneLine(String(msg ?? ''))}`;
  const tail = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  return `${head}${tail.join('')}${error === undefined ? '' : errorText(error)}\n`;
}

function fieldText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ` error=${JSON.stringify(error)}`;
  const { name, message, stack, cause } = error as Record<string, unknown>;
  const lines = typeof stack === 'string' ? stack.split('\n') : [`${String(name)}: ${String(message)}`];
  return `${lines.map((line) => `\n    ${line.trim()}`).join('')}${cause === undefined ? '' : `\n    caused by${errorText(cause)}`}`;
}

/** Replaces line breaks with spaces, so that quoted client input cannot forge a log line. */
const oneLine = (text: string): string => text.replaceAll(/[\r\n\u2028\u2029]+/g, ' ');
