/** `GET /v1/operator/export`: streams an export of one snapshot [SRV-49]. */
import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import type { Call } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Parameter } from '../../http/parameter.ts';
import { streamAnswer } from '../../http/stream-answer.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { passphraseCipher, type TextCipher } from '../../state/transfer/encryption.ts';
import { exportState } from '../../state/transfer/export.ts';
import { authorize, type Credentials, type RequestContext, resolveCaller } from '../caller.ts';
import { PASSPHRASE_CHARACTERS_MIN } from '../limits.ts';

/** Never logged. */
export const PASSPHRASE_HEADER: Parameter = {
  name: 'X-Service-Export-Passphrase',
  description:
    'The base64 of a UTF-8 passphrase that encrypts rows with secrets. Without it the data key encrypts them. Without either the export omits them.',
  schema: Type.String(),
};

export const EXPORT_TYPE = 'application/x-ndjson';
export const exportSchema = Type.String({
  description: 'Lines of JSON: a header, one line per row, and a checksum.',
});

/** @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable` */
export async function sendExport(
  credentials: Credentials,
  call: Call,
  context: RequestContext,
  { clock, dataKey }: { readonly clock: Clock; readonly dataKey: TextCipher | undefined },
): Promise<void> {
  const { state } = credentials;
  const passphrase = readPassphrase(call.request.headers[PASSPHRASE_HEADER.name.toLowerCase()]);
  await state.consistent();
  const { caller } = resolveCaller(credentials, state.snapshot, context);
  authorize(caller, { resource: 'operator', access: 'write', partition: '*' });
  const cipher = passphrase === undefined ? dataKey : await passphraseCipher(passphrase);
  await streamAnswer(call, EXPORT_TYPE, (signal) => exportState(state, { cipher, now: clock.now(), signal }));
}

function readPassphrase(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const passphrase = decodePassphrase(String(header));
  if (passphrase === undefined) {
    throw new ServiceError('bad-request', `${PASSPHRASE_HEADER.name} is not the base64 of a passphrase in UTF-8`);
  }
  if (passphrase.length >= PASSPHRASE_CHARACTERS_MIN) return passphrase;
  const text = `the passphrase of an export needs at least ${PASSPHRASE_CHARACTERS_MIN} characters, this one has ${passphrase.length}`;
  throw new ServiceError('bad-request', text);
}

/** Returns undefined for invalid base64 or UTF-8. A passphrase that is decoded leniently cannot decrypt the export. */
function decodePassphrase(base64: string): string | undefined {
  const bytes = Buffer.from(base64, 'base64');
  const unpadded = (text: string): string => text.replace(/=+$/, '');
  const wasBase64 = unpadded(bytes.toString('base64')) === unpadded(base64);
  return wasBase64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
