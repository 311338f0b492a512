/** The texts and gRPC statuses of session end reasons. */
import { Code } from '@connectrpc/connect';
import type { SessionEnd, SessionLimit, StopReason, StreamStatus, TimeoutReason } from './contract.ts';

/** The texts of [STREAM-49]. */
const LIMIT_REASONS: Readonly<Record<SessionLimit, string>> = {
  'transport-stalled': 'the peer accepts no messages',
  'acknowledgements-waiting': 'the peer takes acknowledgments too slowly',
  'responses-unacknowledged': 'the peer acknowledges nothing',
  'changes-waiting': 'more resources have changed than the peer takes',
  'protocol-errors': 'the peer has sent too many invalid messages',
};

const STOP_STATUSES: Readonly<Record<StopReason, StreamStatus>> = {
  shutdown: { code: Code.Unavailable, message: 'the server is shutting down' },
  superseded: { code: Code.Aborted, message: 'superseded by a newer stream' },
};

const TIMEOUT_CODES: Readonly<Record<TimeoutReason, Code>> = {
  'heartbeat timeout': Code.DeadlineExceeded,
  'handshake timeout': Code.DeadlineExceeded,
  // Not DeadlineExceeded, because this side was too slow and not the peer.
  'apply timeout': Code.Unavailable,
};

const formatStatus = ({ code, message }: StreamStatus): string =>
  code === undefined ? 'stream closed' : `${Code[code]}${message === '' ? '' : `: ${message}`}`;

/** Returns the reason for `Failing` and the log [STREAM-86]: one line, without secrets. */
export function endReason(end: SessionEnd): string {
  switch (end.kind) {
    case 'terminated-by-peer':
      return 'the peering was deleted by the other cluster';
    case 'terminated-here':
      return 'the peering was deleted here';
    case 'timed-out':
      return end.reason;
    case 'refused':
      return `refused: ${formatStatus(end.status)}`;
    case 'closed-by-peer':
      return `closed by the other cluster: ${formatStatus(end.status)}`;
    case 'transport-failed':
      return `connection lost: ${end.message}`;
    case 'protocol-error':
      return `protocol error: ${end.status.message}`;
    case 'stopped':
      return STOP_STATUSES[end.reason].message;
    case 'limit':
      return `limit ${end.limit}: ${LIMIT_REASONS[end.limit]}`;
    case 'failed':
      return 'internal error';
  }
}

/** Returns the status with which the accepting side ends its call. */
export function closeStatus(end: SessionEnd): StreamStatus {
  switch (end.kind) {
    case 'terminated-by-peer':
    case 'closed-by-peer':
    case 'transport-failed':
      return { code: undefined, message: '' };
    case 'terminated-here':
      return { code: Code.Aborted, message: 'peering has been deleted' };
    case 'timed-out':
      return { code: TIMEOUT_CODES[end.reason], message: end.reason };
    case 'refused':
    case 'protocol-error':
      return end.status;
    case 'stopped':
      return STOP_STATUSES[end.reason];
    case 'limit':
      return { code: Code.ResourceExhausted, message: endReason(end) };
    case 'failed':
      return { code: Code.Internal, message: 'internal error' };
  }
}
