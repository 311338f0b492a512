/** Decoding and validation of a presented peering token ([PEER-48] to [PEER-50]), which is untrusted input. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../../http/errors.ts';
import { normalizeJson } from '../../http/json/normalize-json.ts';
import { JsonError, parseStrictJson } from '../../http/json/strict-json.ts';
import { TOKEN_CHARACTERS_MAX } from '../limits.ts';
import { isRemoteName, REMOTE_NAME_WANTED } from '../record/record.ts';
import { checkServerAddresses, isDnsName } from '../record/server-address.ts';
import { parseRoots, RootError } from '../trust/roots.ts';
import { isDatacenterOf, type PeeringToken } from './token.ts';

const optionalStrings = Type.Optional(Type.Array(Type.String()));
const optionalString = Type.Optional(Type.String());
const UNKNOWN_IGNORED = { additionalProperties: true };

const tokenSchema = Type.Object(
  {
    CA: optionalStrings,
    ManualServerAddresses: optionalStrings,
    ServerAddresses: optionalStrings,
    ServerName: optionalString,
    PeerID: optionalString,
    EstablishmentSecret: optionalString,
    Remote: Type.Optional(Type.Object({ Partition: optionalString, Datacenter: optionalString }, UNKNOWN_IGNORED)),
  },
  UNKNOWN_IGNORED,
);

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Decodes a token and validates every field. Ignores whitespace, because tokens are copied by hand.
 * @param nowMs the time at which its certificates must be valid
 * @throws ServiceError `bad-request`
 */
export function decodeToken(text: string, nowMs: number): PeeringToken {
  const {
    CA = [],
    ManualServerAddresses = [],
    ServerAddresses = [],
    ServerName = '',
    PeerID = '',
    EstablishmentSecret = '',
    Remote = {},
  } = parse(text);
  rejectEmpty(CA.length, 'CA');
  rejectEmpty(ManualServerAddresses.length + ServerAddresses.length, 'server addresses');
  rejectEmpty(ServerName.length, 'server name');
  rejectEmpty(PeerID.length, 'peer ID');
  rejectEmpty(EstablishmentSecret.length, 'establishment secret');
  if (!isDnsName(ServerName)) throw invalidToken('peering token server name value is not a DNS name');
  if (!UUID.test(PeerID)) throw invalidToken('peering token peer ID value is not a UUID');
  if (!UUID.test(EstablishmentSecret)) throw invalidToken('peering token establishment secret value is not a UUID');
  const { Partition = '', Datacenter = '' } = Remote;
  if (!isRemoteName(Partition) || !isRemoteName(Datacenter)) {
    throw invalidToken(`peering token remote value is not a valid name: want ${REMOTE_NAME_WANTED}`);
  }
  if (!isDatacenterOf(ServerName, Datacenter)) {
    throw invalidToken(
      `peering token remote datacenter "${Datacenter}" is not that of the server name "${ServerName}"`,
    );
  }
  checkServerAddresses(ManualServerAddresses);
  checkServerAddresses(ServerAddresses);
  return {
    CA: validRoots(CA, nowMs),
    ManualServerAddresses: ManualServerAddresses.length === 0 ? null : ManualServerAddresses,
    ServerAddresses,
    ServerName,
    PeerID,
    EstablishmentSecret,
    Remote: { Partition, Datacenter, Locality: null },
  };
}

const DECODE_FAILED = 'failed to decode token';

function parse(text: string): Static<typeof tokenSchema> {
  if (text.length > TOKEN_CHARACTERS_MAX) {
    throw invalidToken(`${DECODE_FAILED}: it has ${text.length} characters, want at most ${TOKEN_CHARACTERS_MAX}`);
  }
  const base64 = text.replaceAll(/\s+/g, '');
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) throw invalidToken(DECODE_FAILED);
  let value: unknown;
  try {
    value = parseStrictJson(Buffer.from(base64, 'base64'));
  } catch (cause) {
    if (cause instanceof JsonError) throw invalidToken(DECODE_FAILED, cause);
    throw cause;
  }
  try {
    return normalizeJson(tokenSchema, value) as Static<typeof tokenSchema>;
  } catch (cause) {
    if (cause instanceof JsonError) throw invalidToken(`${DECODE_FAILED}: ${cause.message}`, cause);
    throw cause;
  }
}

function validRoots(pems: readonly string[], nowMs: number): string[] {
  try {
    return parseRoots(pems, nowMs).map(({ pem }) => pem);
  } catch (cause) {
    if (cause instanceof RootError) throw invalidToken(`peering token invalid CA: ${cause.message}`, cause);
    throw cause;
  }
}

function rejectEmpty(length: number, field: string): void {
  if (length === 0) throw invalidToken(`peering token ${field} value is empty`);
}

const invalidToken = (message: string, cause?: Error): ServiceError =>
  new ServiceError('bad-request', message, { cause });
