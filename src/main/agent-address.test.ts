import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { agentAddress } from './agent-address.ts';

function info(address: string, internal = false): NetworkInterfaceInfo {
  const of = { address, internal, mac: '00:00:00:00:00:00', cidr: null };
  return address.includes(':')
    ? { ...of, family: 'IPv6', netmask: 'ffff::', scopeid: 0 }
    : { ...of, family: 'IPv4', netmask: '255.0.0.0' };
}

const LOOPBACK = [info('127.0.0.1', true), info('::1', true)];

test('agentAddress returns the host of the listener [SVC-44]', () => {
  for (const host of ['127.0.0.1', '10.0.0.1', '::1', 'accord.example']) {
    assert.deepEqual(agentAddress(host, { eth0: [info('10.9.9.9')] }), { address: host, isServiceAddress: true });
  }
});

test('agentAddress returns the first external address for a wildcard host, and marks it unfit for services [SVC-45]', () => {
  const eth0 = [info('fe80::1'), info('2001:db8::1'), info('169.254.1.1'), info('10.9.9.9')];
  const shown = (host: string, interfaces: Record<string, NetworkInterfaceInfo[]>): string => {
    const { address, isServiceAddress } = agentAddress(host, interfaces);
    assert.equal(isServiceAddress, false);
    return address;
  };
  for (const host of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0']) {
    assert.equal(shown(host, { lo: LOOPBACK, eth0, eth1: [info('10.1.1.1')] }), '10.9.9.9');
    assert.equal(shown(host, { lo: LOOPBACK, eth0: eth0.slice(0, 3) }), '2001:db8::1');
    assert.equal(shown(host, { lo: LOOPBACK }), '127.0.0.1');
    assert.equal(shown(host, {}), '127.0.0.1');
  }
});
