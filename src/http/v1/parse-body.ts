import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { ServiceError } from '../errors.ts';
export function parseBody<S extends TSchema>(schema: S, body: Buffer): Static<S> {
  let value: unknown;
  try { value = JSON.parse(body.toString() || '{}'); } catch (cause) { throw new ServiceError('bad-request', 'Body decoding failed: not JSON', { cause }); }
  if (!Check(schema, value)) throw new ServiceError('bad-request', 'Body decoding failed: does not fit');
  return value as Static<S>;
}
