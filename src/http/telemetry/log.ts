/**
 * The log: one line an event. Nobody redacts here: what is secret is never passed, so a line has a message, the fields
 * that its author chose, and of an error its kind, message and stack, never the object that it may carry along.
 */
import pino, { type DestinationStream, type Logger } from 'pino';
import { LOG_BACKLOG_BYTES_MAX } from '../limits.ts';
import { textLine } from './text-line.ts';

/** pino's logger: `log.info({ field }, 'message')`; `log.level` may be set at any time. */
export type Log = Logger;

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'text' | 'json';
  /** Takes whole lines. Standard error unless given. */
  readonly destination?: DestinationStream;
}

/** Causes of causes that are logged: an error that is its own cause must not hang the log. */
const CAUSES_MAX = 5;

/** Makes the log of a process. */
export function createLog({ level, format, destination = standardError() }: LogOptions): Log {
  const lines = format === 'json' ? destination : { write: (line: string) => destination.write(textLine(line)) };
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: (error: unknown) => describeError(error, CAUSES_MAX), err: () => undefined },
    },
    lines,
  );
}

/** Written at once, not buffered: the last line before a death matters most. */
function standardError(): DestinationStream {
  const stream = pino.destination({ fd: 2, sync: true, maxLength: LOG_BACKLOG_BYTES_MAX });
  // A full disk under the log must not end the server: it goes on, and so does the log once there is room.
  stream.on('error', () => undefined);
  return stream;
}

function describeError(error: unknown, causesLeft: number): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined || causesLeft === 0 ? {} : { cause: describeError(error.cause, causesLeft - 1) }),
  };
}
