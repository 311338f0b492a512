/** `GET /v1/operator/export`: the whole state as one consistent picture; see state/export-format.ts. */
import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import type { Call } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Parameter } from '../../http/parameter.ts';
import { streamAnswer } from '../../http/stream-answer.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { passphraseSealer, type Sealer } from '../../state/transfer/encryption.ts';
import { exportState } from '../../state/transfer/export.ts';
import { authorize } from '../caller.ts';
import { PASSPHRASE_CHARACTERS_MIN } from '../limits.ts';
import { type Asked, type Credentials, locate } from '../operation.ts';

/** Never logged. */
export const PASSPHRASE_HEADER: Parameter = {
  name: 'X-Service-Export-Passphrase',
  description:
    'The base64 of a passphrase in UTF-8: rows that hold secrets are sealed with it, else with the data key, else left out.',
  schema: Type.String(),
};

export const EXPORT_TYPE = 'application/x-ndjson';
export const exportSchema = Type.String({
  description: 'A line of JSON for each row, after a header and before a checksum.',
});

/**
 * Answers the call.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function answerExport(
  credentials: Credentials,
  call: Call,
  asked: Asked,
  { clock, dataKey }: { readonly clock: Clock; readonly dataKey: Sealer | undefined },
): Promise<void> {
  const { state } = credentials;
  const passphrase = readPassphrase(call.request.headers[PASSPHRASE_HEADER.name.toLowerCase()]);
  await state.consistent();
  const { caller } = locate(credentials, state.snapshot, asked);
  authorize(caller, { resource: 'operator', access: 'write', partition: '*' });
  const sealer = passphrase === undefined ? dataKey : await passphraseSealer(passphrase);
  await streamAnswer(call, EXPORT_TYPE, (signal) => exportState(state, { sealer, now: clock.now(), signal }));
}

function readPassphrase(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const passphrase = decodeText(String(header));
  if (passphrase === undefined) {
    throw new ServiceError('bad-request', `${PASSPHRASE_HEADER.name} is not the base64 of a passphrase in UTF-8`);
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
