/** Gives each caller one large write at a time, so that nobody can keep all others waiting ([TEAM-112]). */
import { JsonApiError } from '../jsonapi/errors.ts';

export interface LargeWrites {
  /** Begins a large write of a caller. Its disposal ends it. @throws JsonApiError `too-many-requests` */
  begin(callerId: string): Disposable;
}

export function createLargeWrites(): LargeWrites {
  const running = new Set<string>();
  return {
    begin(callerId) {
      if (running.has(callerId)) throw oneAtATime();
      running.add(callerId);
      return { [Symbol.dispose]: () => void running.delete(callerId) };
    },
  };
}

const oneAtATime = (): JsonApiError => {
  const detail = 'another large request of the same caller is running: send large requests one after another';
  return new JsonApiError([{ code: 'too-many-requests', detail }], ['Retry-After', '1']);
};
