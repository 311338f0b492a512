/** Chapters about peering: two clusters, services of one found in the other, and failover. */
import type { Chapter } from './step.ts';

/** Free ports. Later commands get them from the output. */
const LISTEN = '--http-address 127.0.0.1:0 --peering-address 127.0.0.1:0 --log-format text';

const clusters: Chapter = {
  title: 'Two clusters',
  steps: [
    {
      title: 'Start the first cluster. It is one process and one folder; the database is embedded.',
      command: `accord server --data-dir west --node-name west-1 --cluster-datacenter west \\
  ${LISTEN}`,
      background: 'west',
      matches: [/^Accord is at/m, /^Its first credentials are in/m],
      captures: { WEST: /^Accord is at (.+)$/m },
    },
    {
      title:
        'Start the second cluster, with DNS. DNS queries carry no token, so this cluster allows requests without one.',
      command: `accord server --data-dir east --node-name east-1 --cluster-datacenter east \\
  ${LISTEN} \\
  --dns-address 127.0.0.1:0 --acl-default-policy allow`,
      background: 'east',
      matches: [/^Accord is at/m, /^Its first credentials are in/m, /DNS listener ready/],
      captures: { EAST: /^Accord is at (.+)$/m, EAST_DNS: /DNS listener ready address=127\.0\.0\.1:(\d+)/ },
    },
    {
      title: 'Both are ready. The command line finds the address and the token in the data directory of the server.',
      command: `accord status --data-dir west
accord status --data-dir east`,
      matches: [/(?:^Ready +yes\n(?:.*\n)*){2}/m],
      retry: true,
    },
    {
      title:
        'Connect them. The peering token is a secret that works once, so it goes through a pipe and not onto a command line.',
      command: `accord peering generate-token east --data-dir west |
  accord peering establish west --data-dir east`,
      matches: [/Established peering west/],
    },
    {
      title: 'ACTIVE means that a live stream connects the clusters.',
      command: `accord peering read west --until ACTIVE --data-dir east > /dev/null
accord peering list --data-dir east`,
      matches: [/^west +default +ACTIVE/m],
    },
    {
      title: 'Diagnose the connection. The check tries every step and prints a remedy for a failing one.',
      command: 'accord peering check west --data-dir east',
      matches: [/^passed +tls/m, /^passed +clock/m],
      excludes: [/^failed/m],
    },
  ],
};

/** @param hasDig whether this machine has dig */
const services = (hasDig: boolean): Chapter => ({
  title: 'Services of one cluster, found in the other',
  steps: [
    {
      title: 'Register two services in the catalog of west.',
      command: `accord catalog register --node app-1 --node-address 10.0.0.1 --service web --port 8080 --data-dir west
accord catalog register --node app-2 --node-address 10.0.0.2 --service billing --port 9090 --data-dir west`,
      matches: [/(?:^Registered\.\n){2}/m],
    },
    {
      title: 'Start a third service. This program registers itself and renews its health check.',
      command: 'node "$DEMO/instance.ts" --data-dir west orders',
      background: 'west-orders',
      matches: [/^orders of west answers at/m],
    },
    {
      title: 'Preview an export. A cluster exports only the services that a configuration entry names.',
      command: `cat > exports.json <<'END'
{"Kind": "exported-services", "Name": "default", "Services": [
  {"Name": "web",     "Consumers": [{"Peer": "east"}]},
  {"Name": "billing", "Consumers": [{"Peer": "east"}]},
  {"Name": "orders",  "Consumers": [{"Peer": "east"}]}]}
END
accord config-entry preview exports.json --data-dir west`,
      matches: [/^east +gains +billing$/m, /^east +gains +orders$/m, /^east +gains +web$/m],
    },
    {
      title: 'Write the entry. The services appear in the other cluster and follow every later change.',
      command: `accord config-entry write exports.json --data-dir west
accord peering imported-services west --data-dir east`,
      matches: [/^billing +1$/m, /^orders +1$/m, /^web +1$/m],
      retry: true,
    },
    {
      title: 'Find a service from east over HTTP. The answer has the same JSON as in Consul.',
      command: `curl -s "$EAST/v1/health/service/billing?peer=west&passing&pretty"`,
      matches: [/"Node": "app-2"/, /"Address": "10\.0\.0\.2"/, /"PeerName": "west"/],
    },
    {
      title: 'Find a service from east over DNS: port 8080 on the node at 10.0.0.1.',
      command: hasDig ? DIG : RESOLVE,
      matches: [/10\.0\.0\.1/, /8080/],
    },
    {
      title:
        'Diagnose a missing service. The command checks every step between the clusters and names the failing one.',
      command: 'accord service explain ledger --peer east --data-dir west',
      matches: [/ledger from this cluster to east: stops at "registered"/],
    },
  ],
});

const DIG = `dig @127.0.0.1 -p $EAST_DNS +short web.service.west.peer.accord A
dig @127.0.0.1 -p $EAST_DNS +short web.service.west.peer.accord SRV`;

/** The same queries on a machine without dig. */
const RESOLVE = `node --input-type=module -e "
import { Resolver } from 'node:dns/promises';
const resolver = new Resolver();
resolver.setServers(['127.0.0.1:$EAST_DNS']);
console.log(await resolver.resolve4('web.service.west.peer.accord'));
console.log(await resolver.resolveSrv('web.service.west.peer.accord'));"`;

/** A request to a healthy instance of orders, local or imported. */
const CALL = `curl -s "http://$(accord catalog health orders --passing --failover west --data-dir east |
  awk 'NR == 2 { print $2 }')"`;

const failover: Chapter = {
  title: 'Failover',
  steps: [
    {
      title: 'Start an instance of orders in east.',
      command: 'node "$DEMO/instance.ts" --data-dir east orders',
      background: 'east-orders',
      matches: [/^orders of east answers at/m],
      captures: { EAST_ORDERS: /process (\d+)/ },
    },
    {
      title: 'Query with failover. While a local instance is healthy, the answer contains the local instances.',
      command: CALL,
      matches: [/^orders of east$/m],
      // On a busy machine a report can be late.
      retry: true,
    },
    {
      title: 'Kill the local instance.',
      command: 'kill -9 $EAST_ORDERS',
    },
    {
      title: 'Its check becomes critical, and the same command now reaches the instance in west.',
      command: CALL,
      matches: [/^orders of west$/m],
      retry: true,
    },
    {
      title: 'A header of the answer names the cluster of the instances.',
      command: `curl -si "$EAST/v1/health/service/orders?passing&failover=west" | grep -i answered-by
accord catalog health orders --data-dir east`,
      matches: [/^x-service-answered-by: west/im, /^critical /m],
      retry: true,
    },
  ],
};

/** Returns the chapters in order. @param hasDig whether this machine has dig */
export const peeringChapters = (hasDig: boolean): readonly Chapter[] => [clusters, services(hasDig), failover];
