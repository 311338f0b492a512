/** How a session ended: in words for people, and as the gRPC status that the other side gets. */
import { Code } from '@connectrpc/connect';
import type { SessionEnd, SessionLimit, StopReason, StreamStatus, TimeoutReason } from './contract.ts';

const LIMITS: Readonly<Record<SessionLimit, string>> = {
  'transport-stalled': 'the peer takes no messages',
  'acknowledgements-waiting': 'the peer takes acknowledgements too slowly',
  'responses-unacknowledged': 'the peer acknowledges nothing',
  'changes-waiting': 'more resources have changed than the peer takes',
  'protocol-errors': 'the peer has sent too many messages that make no sense',
};

const STOPS: Readonly<Record<StopReason, StreamStatus>> = {
  shutdown: { code: Code.Unavailable, message: 'the server is shutting down' },
  superseded: { code: Code.Aborted, message: 'superseded by a newer stream' },
};

const TIMEOUTS: Readonly<Record<TimeoutReason, Code>> = {
  'heartbeat timeout': Code.DeadlineExceeded,
  'handshake timeout': Code.DeadlineExceeded,
  // The fault is here: the peer did its part.
  'apply timeout': Code.Unavailable,
};

const inWords = ({ code, message }: StreamStatus): string =>
  code === undefined ? 'stream closed' : `${Code[code]}${message === '' ? '' : `: ${message}`}`;

/** The reason as a record's `Failing` and the log show it: one line, without secrets. */
export function endReason(end: SessionEnd): string {
  switch (end.kind) {
    case 'terminated-by-peer':
      return 'the peering was deleted by the other cluster';
    case 'terminated-here':
      return 'the peering was deleted here';
    case 'timed-out':
      return end.reason;
    case 'refused':
      return `refused: ${inWords(end.status)}`;
    case 'closed-by-peer':
      return `closed by the other cluster: ${inWords(end.status)}`;
    case 'transport-failed':
      return `connection lost: ${end.message}`;
    case 'protocol-error':
      return `protocol error: ${end.status.message}`;
    case 'stopped':
      return STOPS[end.reason].message;
    case 'limit':
      return `limit ${end.limit}: ${LIMITS[end.limit]}`;
    case 'failed':
      return 'internal error';
  }
}

/** What the accepting side ends its call with. */
export function closeStatus(end: SessionEnd): StreamStatus {
  switch (end.kind) {
    case 'terminated-by-peer':
    case 'closed-by-peer':
    case 'transport-failed':
      return { code: undefined, message: '' };
    case 'terminated-here':
      return { code: Code.Aborted, message: 'peering has been deleted' };
    case 'timed-out':
      return { code: TIMEOUTS[end.reason], message: end.reason };
    case 'refused':
    case 'protocol-error':
      return end.status;
    case 'stopped':
      return STOPS[end.reason];
    case 'limit':
      return { code: Code.ResourceExhausted, message: endReason(end) };
    case 'failed':
      return { code: Code.Internal, message: 'internal error' };
  }
}
