/** Two clusters, the peering between them, and what it is for: services of one found, and failed over to, in the other. */
import type { Chapter } from './step.ts';

/** Free ports: the commands after these learn them from the answers. */
const LISTEN = '--http-address 127.0.0.1:0 --peering-address 127.0.0.1:0 --log-format text';

const clusters: Chapter = {
  title: 'Two clusters',
  steps: [
    {
      why: 'A cluster begins as one process and one folder: the database is embedded, nothing else has to run.',
      command: `accord server --data-dir west --node-name west-1 --cluster-datacenter west \\
  ${LISTEN}`,
      background: 'west',
      shows: [/^Accord is at/m, /^Its first credentials are in/m],
      finds: { WEST: /^Accord is at (.+)$/m },
    },
    {
      why: 'The second one answers over DNS, too. DNS knows no tokens, so this one lets in who has none.',
      command: `accord server --data-dir east --node-name east-1 --cluster-datacenter east \\
  ${LISTEN} \\
  --dns-address 127.0.0.1:0 --acl-default-policy allow`,
      background: 'east',
      shows: [/^Accord is at/m, /^Its first credentials are in/m, /DNS listener ready/],
      finds: { EAST: /^Accord is at (.+)$/m, EAST_DNS: /DNS listener ready address=127\.0\.0\.1:(\d+)/ },
    },
    {
      why: 'Both are ready. The command line finds address and token in the folder of the server that it is to ask.',
      command: `accord status --data-dir west
accord status --data-dir east`,
      shows: [/(?:^Ready +yes\n(?:.*\n)*){2}/m],
      eventually: true,
    },
    {
      why: 'A peering token is a secret that works once: it goes through a pipe and stands on no command line.',
      command: `accord peering generate-token east --data-dir west |
  accord peering establish west --data-dir east`,
      shows: [/Established peering west/],
    },
    {
      why: 'ACTIVE says that a live stream connects them, now: it is what is so, not what is configured.',
      command: `accord peering read west --until ACTIVE --data-dir east > /dev/null
accord peering list --data-dir east`,
      shows: [/^west +default +ACTIVE/m],
    },
    {
      why: 'Why does it connect, or not? Every step of the way is tried, and what to do is said where one fails.',
      command: 'accord peering check west --data-dir east',
      shows: [/^passed +tls/m, /^passed +clock/m],
      hides: [/^failed/m],
    },
  ],
};

/** @param hasDig whether there is the program that most people would ask with */
const services = (hasDig: boolean): Chapter => ({
  title: 'Services of one cluster, found in the other',
  steps: [
    {
      why: 'Two services go into the catalog of west.',
      command: `accord catalog register --node app-1 --node-address 10.0.0.1 --service web --port 8080 --data-dir west
accord catalog register --node app-2 --node-address 10.0.0.2 --service billing --port 9090 --data-dir west`,
      shows: [/(?:^Registered\.\n){2}/m],
    },
    {
      why: 'The third one is a program that really runs: it registers itself, and reports again and again that it lives.',
      command: 'node "$DEMO/instance.ts" --data-dir west orders',
      background: 'west-orders',
      shows: [/^orders of west answers at/m],
    },
    {
      why: 'Nothing leaves a cluster unless an entry says so. What an entry would change can be seen before it does.',
      command: `cat > exports.json <<'END'
{"Kind": "exported-services", "Name": "default", "Services": [
  {"Name": "web",     "Consumers": [{"Peer": "east"}]},
  {"Name": "billing", "Consumers": [{"Peer": "east"}]},
  {"Name": "orders",  "Consumers": [{"Peer": "east"}]}]}
END
accord config-entry preview exports.json --data-dir west`,
      shows: [/^east +gains +billing$/m, /^east +gains +orders$/m, /^east +gains +web$/m],
    },
    {
      why: 'Written, they are in the other cluster a moment later, and follow every change from then on.',
      command: `accord config-entry write exports.json --data-dir west
accord peering imported-services west --data-dir east`,
      shows: [/^billing +1$/m, /^orders +1$/m, /^web +1$/m],
      eventually: true,
    },
    {
      why: 'Programs of east find them over HTTP, in the shapes that Consul has: its libraries work as they are.',
      command: `curl -s "$EAST/v1/health/service/billing?peer=west&passing&pretty"`,
      shows: [/"Node": "app-2"/, /"Address": "10\.0\.0\.2"/, /"PeerName": "west"/],
    },
    {
      why: 'And over DNS, which every program speaks: port 8080 on the node at 10.0.0.1.',
      command: hasDig ? DIG : RESOLVE,
      shows: [/10\.0\.0\.1/, /8080/],
    },
    {
      why: 'Why is a service not there? Every step of its way is looked at, and the one where it stops is named.',
      command: 'accord service explain ledger --peer east --data-dir west',
      shows: [/on its way to east: stops at "registered"/],
    },
  ],
});

const DIG = `dig @127.0.0.1 -p $EAST_DNS +short web.service.west.peer.accord A
dig @127.0.0.1 -p $EAST_DNS +short web.service.west.peer.accord SRV`;

/** The same where there is no dig. */
const RESOLVE = `node --input-type=module -e "
import { Resolver } from 'node:dns/promises';
const resolver = new Resolver();
resolver.setServers(['127.0.0.1:$EAST_DNS']);
console.log(await resolver.resolve4('web.service.west.peer.accord'));
console.log(await resolver.resolveSrv('web.service.west.peer.accord'));"`;

/** A request to an instance of orders, wherever it is. */
const CALL = `curl -s "http://$(accord catalog health orders --passing --failover west --data-dir east |
  awk 'NR == 2 { print $2 }')"`;

const failover: Chapter = {
  title: 'An instance dies',
  steps: [
    {
      why: 'East runs orders, too.',
      command: 'node "$DEMO/instance.ts" --data-dir east orders',
      background: 'east-orders',
      shows: [/^orders of east answers at/m],
      finds: { EAST_ORDERS: /process (\d+)/ },
    },
    {
      why: 'Who asks with failover gets the instances at home while one of them is well. It is found, and called:',
      command: CALL,
      shows: [/^orders of east$/m],
      // On a busy machine a report may be late, and the next one mends that.
      eventually: true,
    },
    {
      why: 'Now that program is killed, without a chance to say goodbye.',
      command: 'kill -9 $EAST_ORDERS',
    },
    {
      why: 'Its reports stay away, its check turns critical, and the same command calls the peer: nobody changed anything.',
      command: CALL,
      shows: [/^orders of west$/m],
      eventually: true,
    },
    {
      why: 'The answer says whose instances they are.',
      command: `curl -si "$EAST/v1/health/service/orders?passing&failover=west" | grep -i answered-by
accord catalog health orders --data-dir east`,
      shows: [/^x-service-answered-by: west/im, /^critical /m],
      eventually: true,
    },
  ],
};

/** In the order in which they are played. @param hasDig whether this machine has dig */
export const peeringChapters = (hasDig: boolean): readonly Chapter[] => [clusters, services(hasDig), failover];
