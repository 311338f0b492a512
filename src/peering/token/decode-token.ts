/**
 * Reads a peering token that somebody presents: anything can be in it. Unknown keys are ignored, as every reader of
 * these tokens does. Texts: peering-decisions, "States".
 */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../../http/errors.ts';
import { fitSchema } from '../../http/json/fit-schema.ts';
import { JsonProblem, parseStrictJson } from '../../http/json/strict-json.ts';
import { TOKEN_CHARACTERS_MAX } from '../limits.ts';
import { isRemoteName, REMOTE_NAME_WANTED } from '../record/remote-name.ts';
import { checkServerAddresses, isDnsName } from '../record/server-address.ts';
import { parseRoots, RootError } from '../trust/roots.ts';
import { isDatacenterOf, type PeeringToken } from './token.ts';

const texts = Type.Optional(Type.Array(Type.String()));
const text = Type.Optional(Type.String());
const UNKNOWN_IGNORED = { additionalProperties: true };

const tokenSchema = Type.Object(
  {
    CA: texts,
    ManualServerAddresses: texts,
    ServerAddresses: texts,
    ServerName: text,
    PeerID: text,
    EstablishmentSecret: text,
    Remote: Type.Optional(Type.Object({ Partition: text, Datacenter: text }, UNKNOWN_IGNORED)),
  },
  UNKNOWN_IGNORED,
);

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The token, every field of which is as it must be. White space around and in it goes: it was carried by hand.
 * @param nowMs when its certificates must be valid
 * @throws ServiceError `bad-request`
 */
export function decodeToken(given: string, nowMs: number): PeeringToken {
  const {
    CA = [],
    ManualServerAddresses = [],
    ServerAddresses = [],
    ServerName = '',
    PeerID = '',
    EstablishmentSecret = '',
    Remote = {},
  } = parse(given);
  refuseEmpty(CA.length, 'CA');
  refuseEmpty(ManualServerAddresses.length + ServerAddresses.length, 'server addresses');
  refuseEmpty(ServerName.length, 'server name');
  refuseEmpty(PeerID.length, 'peer ID');
  refuseEmpty(EstablishmentSecret.length, 'establishment secret');
  if (!isDnsName(ServerName)) throw refusal('peering token server name value is not a DNS name');
  if (!UUID.test(PeerID)) throw refusal('peering token peer ID value is not a UUID');
  if (!UUID.test(EstablishmentSecret)) throw refusal('peering token establishment secret value is not a UUID');
  const { Partition = '', Datacenter = '' } = Remote;
  if (!isRemoteName(Partition) || !isRemoteName(Datacenter)) {
    throw refusal(`peering token remote value is no name: want ${REMOTE_NAME_WANTED}`);
  }
  if (!isDatacenterOf(ServerName, Datacenter)) {
    throw refusal(`peering token remote datacenter "${Datacenter}" is not that of the server name "${ServerName}"`);
  }
  checkServerAddresses(ManualServerAddresses);
  checkServerAddresses(ServerAddresses);
  return {
    CA: rootsOf(CA, nowMs),
    ManualServerAddresses: ManualServerAddresses.length === 0 ? null : ManualServerAddresses,
    ServerAddresses,
    ServerName,
    PeerID,
    EstablishmentSecret,
    Remote: { Partition, Datacenter, Locality: null },
  };
}

const UNREADABLE = 'failed to decode token';

function parse(given: string): Static<typeof tokenSchema> {
  if (given.length > TOKEN_CHARACTERS_MAX) {
    throw refusal(`${UNREADABLE}: it has ${given.length} characters, want at most ${TOKEN_CHARACTERS_MAX}`);
  }
  const base64 = given.replaceAll(/\s+/g, '');
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) throw refusal(UNREADABLE);
  let value: unknown;
  try {
    value = parseStrictJson(Buffer.from(base64, 'base64'));
  } catch (cause) {
    if (cause instanceof JsonProblem) throw refusal(UNREADABLE, cause);
    throw cause;
  }
  try {
    return fitSchema(tokenSchema, value) as Static<typeof tokenSchema>;
  } catch (cause) {
    if (cause instanceof JsonProblem) throw refusal(`${UNREADABLE}: ${cause.message}`, cause);
    throw cause;
  }
}

function rootsOf(pems: readonly string[], nowMs: number): string[] {
  try {
    return parseRoots(pems, nowMs).map(({ pem }) => pem);
  } catch (cause) {
    if (cause instanceof RootError) throw refusal(`peering token invalid CA: ${cause.message}`, cause);
    throw cause;
  }
}

function refuseEmpty(length: number, field: string): void {
  if (length === 0) throw refusal(`peering token ${field} value is empty`);
}

const refusal = (message: string, cause?: Error): ServiceError => new ServiceError('bad-request', message, { cause });
