/**
 * `PUT /v1/operator/ca/rotate`: announces a new CA root ([PEER-88]). `certificate-job.ts` makes the later transitions.
 */

import {
  authorize,
  type Caller,
  originOf,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../../../credentials/caller.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { announceRoot, authorities, authorityRow } from '../authority.ts';
import { createAuthority } from '../issue-certificates.ts';
import { recordAuthorityChange } from '../record-authority-change.ts';
import { type AuthorityJson, authorityToJson } from './authority-to-json.ts';
import { CLUSTER_WIDE, type TrustContext } from './trust-context.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict` while a rotation is in progress, StateError */
export async function rotate(trust: TrustContext, context: RequestContext): Promise<AuthorityJson> {
  const { credentials, clock, secrets, name } = trust;
  const { state } = credentials;
  await state.consistent();
  // Rejects callers without permission before generating keys, which uses CPU.
  authorizeRotation(trust, state.snapshot, context);
  const next = await createAuthority({ name, secrets, nowMs: clock.now() });
  return await writeForRequest(credentials, context, (tx) => {
    const caller = authorizeRotation(trust, tx, context);
    const before = authorityRow(tx);
    const after = announceRoot(before, next, new Date(tx.now).toISOString());
    if (after === undefined) throw rotationInProgress(before.rotation?.since ?? '');
    tx.put(authorities, after);
    recordAuthorityChange(tx, originOf(context, caller), 'rotate', before, after);
    return authorityToJson(tx, name);
  });
}

function authorizeRotation({ credentials }: TrustContext, reader: Reader, context: RequestContext): Caller {
  const { caller } = resolveCaller(credentials, reader, context);
  authorize(caller, { resource: 'operator', access: 'write', partition: CLUSTER_WIDE });
  const { rotation } = authorityRow(reader);
  if (rotation !== undefined) throw rotationInProgress(rotation.since);
  return caller;
}

const rotationInProgress = (since: string): ServiceError =>
  new ServiceError(
    'conflict',
    `a rotation of the certificate authority is under way, in its stage since ${since}: wait for its end, or go back first`,
  );
