/** The Prometheus metrics of the DNS listener. They contain no names, so they are visible to every caller. */
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../http/operators/metrics.ts';
import { rcodes } from './rcodes.ts';
import type { RunningDns } from './start-dns.ts';

export function dnsMetrics({ registry }: Pick<Metrics, 'registry'>, dns: RunningDns): void {
  const registers = [registry];
  new Counter({
    name: 'accord_dns_questions_total',
    help: 'Answered DNS questions by outcome',
    labelNames: ['rcode'],
    registers,
    collect() {
      this.reset();
      for (const rcode of Object.keys(rcodes)) this.inc({ rcode }, 0);
      for (const [rcode, count] of dns.traffic.answered) this.inc({ rcode }, count);
    },
  });
  new Counter({
    name: 'accord_dns_ignored_total',
    help: 'Messages to the DNS listener that were not questions and were not answered',
    registers,
    collect() {
      this.reset();
      this.inc(dns.traffic.ignoredCount);
    },
  });
  new Gauge({
    name: 'accord_dns_connections',
    help: 'Open TCP connections to the DNS listener',
    registers,
    collect() {
      this.set(dns.connectionCount);
    },
  });
}
