/** Gives each caller one large write at a time, so that no caller keeps all others waiting ([TEAM-112]). */
import { createOneAtATime } from '../../budget/one-at-a-time.ts';
import { JsonApiError } from '../jsonapi/errors.ts';

export interface LargeWrites {
  /** Begins a large write of a caller. Its disposal ends it. @throws JsonApiError `too-many-requests` */
  begin(callerId: string): Disposable;
}

export function createLargeWrites(): LargeWrites {
  const writes = createOneAtATime();
  return {
    begin(callerId) {
      const write = writes.begin(callerId);
      if (write === undefined) throw oneAtATime();
      return write;
    },
  };
}

const oneAtATime = (): JsonApiError => {
  const detail = 'another large request of the same caller is running: send large requests one after another';
  return new JsonApiError([{ code: 'too-many-requests', detail }], ['Retry-After', '1']);
};
