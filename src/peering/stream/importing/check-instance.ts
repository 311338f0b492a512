/**
 * Validates the instances that a peer sends ([STREAM-99]). The limits are wider than those of the local catalog, because
 * Consul has fewer. Values that no client could use, or would take for something else, are refused.
 */
import { Code } from '@connectrpc/connect';
import type { Instance, InstanceCheck, InstanceNode, InstanceService } from '../../catalog/tables/instance.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import { DNS_NAME_CHARACTERS_MAX } from '../../limits.ts';
import { isRemoteName, REMOTE_NAME_WANTED } from '../../record/record.ts';
import { ApplyRefused } from '../contract.ts';
import {
  INSTANCE_ENTRIES_MAX,
  INSTANCE_ID_CHARACTERS_MAX,
  INSTANCE_KEY_CHARACTERS_MAX,
  INSTANCE_TEXT_CHARACTERS_MAX,
} from '../limits.ts';

const PORT_MAX = 65_535;
const WEIGHT_MAX = 65_535;
const STATUSES: ReadonlySet<string> = new Set(['passing', 'warning', 'critical', 'maintenance']);
/** Addresses to listen on. A client that dials one reaches its own machine. */
const WILDCARD_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);
const CONTROL_CHARACTER = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** @param service the name of the resource @throws ApplyRefused naming the first invalid field */
export function checkInstance(service: string, { node, service: own, checks }: Instance): void {
  if (nameKey(own.name) !== nameKey(service)) {
    throw refused(`service ${shown(service)} has an instance of the service ${shown(own.name)}`);
  }
  const place = `an instance of service ${shown(service)}`;
  checkNode(`the node of ${place}`, node);
  checkService(place, own);
  checkCount(`checks of ${place}`, checks.length);
  for (const check of checks) checkCheck(`a check of ${place}`, check, own);
}

function checkNode(place: string, node: InstanceNode): void {
  checkName(`the name of ${place}`, node.name);
  checkLine(`the ID of ${place}`, node.id, INSTANCE_ID_CHARACTERS_MAX);
  checkAddress(`the address of ${place}`, node.address);
  for (const name of [node.datacenter, node.partition]) {
    if (!isRemoteName(name)) throw invalid(`the datacenter or partition of ${place}`, name, REMOTE_NAME_WANTED);
  }
  checkMap(`tagged addresses of ${place}`, node.taggedAddresses, checkAddress);
  checkMap(`pairs in the metadata of ${place}`, node.meta, checkText);
}

function checkService(place: string, service: InstanceService): void {
  checkLine(`the ID of ${place}`, service.id, INSTANCE_ID_CHARACTERS_MAX);
  checkLine(`the kind of ${place}`, service.kind, DNS_NAME_CHARACTERS_MAX);
  checkLine(`the socket path of ${place}`, service.socketPath, INSTANCE_TEXT_CHARACTERS_MAX);
  checkAddress(`the address of ${place}`, service.address);
  checkPort(`the port of ${place}`, service.port);
  checkLines(`tags of ${place}`, service.tags);
  checkMap(`pairs in the metadata of ${place}`, service.meta, checkText);
  checkMap(`tagged addresses of ${place}`, service.taggedAddresses, (what, { address, port }) => {
    checkAddress(what, address);
    checkPort(`the port of ${what}`, port);
  });
  const { passing, warning } = service.weights;
  if (![passing, warning].every((weight) => weight >= 0 && weight <= WEIGHT_MAX)) {
    throw invalid(`the weights of ${place}`, `${passing} and ${warning}`, `0 to ${WEIGHT_MAX}`);
  }
  const { sni = [], spiffeId = [], protocol = '' } = service.mesh ?? {};
  checkLines(`server names of ${place}`, sni);
  checkLines(`SPIFFE IDs of ${place}`, spiffeId);
  checkLine(`the protocol of ${place}`, protocol, DNS_NAME_CHARACTERS_MAX);
}

function checkCheck(place: string, check: InstanceCheck, service: InstanceService): void {
  if (!STATUSES.has(check.status)) {
    throw invalid(`the status of ${place}`, check.status, [...STATUSES].join(' or '));
  }
  if (check.serviceName !== '' && nameKey(check.serviceName) !== nameKey(service.name)) {
    throw refused(`${place} is of the service ${shown(check.serviceName)}`);
  }
  if (check.serviceId !== '' && check.serviceId !== service.id) {
    throw refused(`${place} is of the instance ${shown(check.serviceId)}, not of ${shown(service.id)}`);
  }
  checkLine(`the ID of ${place}`, check.id, INSTANCE_ID_CHARACTERS_MAX);
  checkLine(`the name of ${place}`, check.name, INSTANCE_TEXT_CHARACTERS_MAX);
  checkLine(`the type of ${place}`, check.type, DNS_NAME_CHARACTERS_MAX);
  checkText(`the notes of ${place}`, check.notes);
  checkText(`the output of ${place}`, check.output);
  checkLines(`service tags of ${place}`, check.serviceTags);
}

function checkName(what: string, name: string): void {
  if (name === '') throw invalid(what, name, `1 to ${DNS_NAME_CHARACTERS_MAX} characters`);
  checkLine(what, name, DNS_NAME_CHARACTERS_MAX);
}

function checkAddress(what: string, address: string): void {
  checkLine(what, address, DNS_NAME_CHARACTERS_MAX);
  if (WILDCARD_ADDRESSES.has(address)) throw invalid(what, address, 'an address that clients can connect to');
}

function checkPort(what: string, port: number): void {
  if (port < 0 || port > PORT_MAX) throw invalid(what, String(port), `0 to ${PORT_MAX}`);
}

function checkLine(what: string, text: string, charactersMax: number): void {
  if (text.length <= charactersMax && !CONTROL_CHARACTER.test(text)) return;
  throw invalid(what, text, `at most ${charactersMax} characters, none of them a control character`);
}

/** Checks a text that may have several lines, such as the output of a check. */
function checkText(what: string, text: string): void {
  if (text.length > INSTANCE_TEXT_CHARACTERS_MAX)
    throw invalid(what, text, `at most ${INSTANCE_TEXT_CHARACTERS_MAX} characters`);
}

function checkLines(what: string, lines: readonly string[]): void {
  checkCount(what, lines.length);
  for (const line of lines) checkLine(`one of the ${what}`, line, INSTANCE_TEXT_CHARACTERS_MAX);
}

function checkMap<T>(what: string, map: Readonly<Record<string, T>>, check: (what: string, value: T) => void): void {
  const entries = Object.entries(map);
  checkCount(what, entries.length);
  for (const [key, value] of entries) {
    checkLine(`a key of the ${what}`, key, INSTANCE_KEY_CHARACTERS_MAX);
    check(`one of the ${what}`, value);
  }
}

function checkCount(what: string, count: number): void {
  if (count > INSTANCE_ENTRIES_MAX) throw refused(`${count} ${what}: at most ${INSTANCE_ENTRIES_MAX} are accepted`);
}

const SHOWN_CHARACTERS_MAX = 64;
const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARACTERS_MAX));

const invalid = (what: string, value: string, wanted: string): ApplyRefused =>
  refused(`${what} is ${shown(value)}: want ${wanted}`);

const refused = (message: string): ApplyRefused => new ApplyRefused(Code.InvalidArgument, message);
