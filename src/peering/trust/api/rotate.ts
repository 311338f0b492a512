/** `PUT /v1/operator/ca/rotate`: announces a new root; certificate-job.ts takes it from there. */

import type { Caller } from '../../../credentials/caller.ts';
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, locate, originOf, writeFor } from '../../../credentials/operation.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { announced, authorities, authorityOf } from '../authority.ts';
import { makeAuthority } from '../make-certificates.ts';
import { recordAuthority } from '../record-authority.ts';
import { type ShownAuthority, showAuthority } from './authority-to-json.ts';
import { CLUSTER_WIDE, type Trust } from './operation.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict` while a rotation is under way, StateError */
export async function rotate(trust: Trust, asked: Asked): Promise<ShownAuthority> {
  const { credentials, clock, secrets, name } = trust;
  const { state } = credentials;
  await state.consistent();
  // No keys are made for who may not rotate.
  admit(trust, state.snapshot, asked);
  const next = await makeAuthority({ name, secrets, nowMs: clock.now() });
  return await writeFor(credentials, asked, (tx) => {
    const caller = admit(trust, tx, asked);
    const before = authorityOf(tx);
    const after = announced(before, next, new Date(tx.now).toISOString());
    if (after === undefined) throw underWay(before.rotation?.since ?? '');
    tx.put(authorities, after);
    recordAuthority(tx, originOf(asked, caller), 'rotate', before, after);
    return showAuthority(tx, name);
  });
}

function admit({ credentials }: Trust, reader: Reader, asked: Asked): Caller {
  const { caller } = locate(credentials, reader, asked);
  authorize(caller, { resource: 'operator', access: 'write', partition: CLUSTER_WIDE });
  const { rotation } = authorityOf(reader);
  if (rotation !== undefined) throw underWay(rotation.since);
  return caller;
}

const underWay = (since: string): ServiceError =>
  new ServiceError(
    'conflict',
    `a rotation of the certificate authority is under way, in its stage since ${since}: wait for its end, or go back first`,
  );
