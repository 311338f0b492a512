/** Measures registrations and reads of the catalog, and compares them with bare `node:http`. */
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBaseline } from './support/baseline-server.ts';
import { atLeast, type Figure, information, type ReportFigures } from './support/figures.ts';
import { measureRatesInterleaved } from './support/interleaved-rates.ts';
import { measureRate } from './support/wrk.ts';

const SECONDS = 3;
const CONNECTIONS = 64;
/** Services in the catalog while one of them is read. */
const SERVICES = 2_000;

export async function benchCatalog(report: ReportFigures): Promise<void> {
  report('Services: durable registrations', await registrations());
  report(`Services: reads with ${SERVICES} services`, await reads());
}

const registration = (service: string): object => ({
  Node: 'app-1',
  Address: '10.0.0.1',
  Service: { ID: service, Service: service, Port: 8080, Tags: ['v1', 'primary'], Meta: { team: 'payments' } },
  Check: { CheckID: `check-${service}`, Name: 'answers', Status: 'passing', ServiceID: service },
});

const register = (server: Server, service: string) =>
  server.request('PUT', '/v1/catalog/register', { body: registration(service) });

async function registrations(): Promise<Figure[]> {
  await using server = await startServer();
  await using baseline = await startBaseline(await register(server, 'web'));
  const write = {
    method: 'PUT',
    headers: { 'X-Service-Token': server.token },
    connections: CONNECTIONS,
    seconds: SECONDS,
  };
  let round = 0;
  const [baselineRate = 0, fresh = 0, again = 0] = await measureRatesInterleaved([
    () => measureRate({ ...write, body: JSON.stringify(registration('service-COUNT')), url: `${baseline.address}/` }),
    () => {
      round += 1;
      const body = JSON.stringify(registration(`service-${round}-COUNT`));
      return measureRate({ ...write, body, url: `${server.address}/v1/catalog/register` });
    },
    () =>
      measureRate({
        ...write,
        body: JSON.stringify(registration('web')),
        url: `${server.address}/v1/catalog/register`,
      }),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    atLeast(`PUT /v1/catalog/register, ${CONNECTIONS} connections, new services`, fresh, 8_000, '/s'),
    information('ratio to bare node:http', fresh / baselineRate, '×'),
    information('PUT /v1/catalog/register, unchanged services', again, '/s'),
  ];
}

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  for (let i = 0; i < SERVICES; i++) await register(server, `service-${i}`);
  const path = '/v1/health/service/service-7';
  await using baseline = await startBaseline(await server.request('GET', path));
  const headers = { 'X-Service-Token': server.token };
  const at = (url: string) => () => measureRate({ url, headers, connections: CONNECTIONS, seconds: SECONDS });
  const [baselineRate = 0, one = 0, passing = 0] = await measureRatesInterleaved([
    at(`${baseline.address}/`),
    at(`${server.address}${path}`),
    at(`${server.address}${path}?passing`),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    information('GET /v1/health/service/:name', one, '/s'),
    atLeast('GET /v1/health/service/:name, ratio to bare node:http', one / baselineRate, 0.7, '×'),
    information('GET /v1/health/service/:name?passing, ratio to bare node:http', passing / baselineRate, '×'),
  ];
}
