/** `GET /v1/operator/export`: the whole state as one consistent picture; see state/export-format.ts. */
import { isUtf8 } from 'node:buffer';
import type { Call } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import { streamAnswer } from '../http/stream-answer.ts';
import type { Clock } from '../state/clock.ts';
import { exportState } from '../state/export.ts';
import { passphraseSealer, type Sealer } from '../state/sealing.ts';
import { authorize } from './caller.ts';
import { PASSPHRASE_CHARACTERS_MIN } from './limits.ts';
import { type Asked, type Credentials, locate } from './operation.ts';

const PASSPHRASE_HEADER = 'x-service-export-passphrase';

/**
 * Answers the call. Rows that hold secrets are sealed with the passphrase (base64 of its UTF-8, in a header that is
 * never logged), else with the data key, else left out.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function answerExport(
  credentials: Credentials,
  call: Call,
  asked: Asked,
  { clock, dataKey }: { readonly clock: Clock; readonly dataKey: Sealer | undefined },
): Promise<void> {
  const { state } = credentials;
  const passphrase = readPassphrase(call.request.headers[PASSPHRASE_HEADER]);
  await state.consistent();
  const { caller } = locate(credentials, state.snapshot, asked);
  authorize(caller, { resource: 'operator', access: 'write', partition: '*' });
  const sealer = passphrase === undefined ? dataKey : await passphraseSealer(passphrase);
  await streamAnswer(call, 'application/x-ndjson', (signal) =>
    exportState(state, { sealer, now: clock.now(), signal }),
  );
}

function readPassphrase(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const passphrase = decodeText(String(header));
  if (passphrase === undefined) {
    throw new ServiceError('bad-request', 'X-Service-Export-Passphrase is not the base64 of a passphrase in UTF-8');
  }
  if (passphrase.length >= PASSPHRASE_CHARACTERS_MIN) return passphrase;
  const text = `the passphrase of an export needs at least ${PASSPHRASE_CHARACTERS_MIN} characters, this one has ${passphrase.length}`;
  throw new ServiceError('bad-request', text);
}

/** Strict: a passphrase that was understood otherwise than it was meant opens nothing later. */
function decodeText(base64: string): string | undefined {
  const bytes = Buffer.from(base64, 'base64');
  const unpadded = (text: string): string => text.replace(/=+$/, '');
  const wasBase64 = unpadded(bytes.toString('base64')) === unpadded(base64);
  return wasBase64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
