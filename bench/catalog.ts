/** The catalog, beside bare Node.js doing the same in the same run. */
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBare } from './support/bare.ts';
import { compare } from './support/compare.ts';
import { atLeast, type Figure, information, type Tell } from './support/figures.ts';
import { load } from './support/wrk.ts';

const SECONDS = 3;
const AT_ONCE = 64;
/** Services that are there while one of them is read. */
const SERVICES = 2_000;

export async function benchCatalog(tell: Tell): Promise<void> {
  tell('Services, registered durably', await registrations());
  tell(`Services, read among ${SERVICES}`, await reads());
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
  await using bare = await startBare(await register(server, 'web'));
  const write = {
    method: 'PUT',
    headers: { 'X-Service-Token': server.token },
    atOnce: AT_ONCE,
    seconds: SECONDS,
  };
  let round = 0;
  const [bareRate = 0, fresh = 0, again = 0] = await compare([
    () => load({ ...write, body: JSON.stringify(registration('service-COUNT')), url: `${bare.address}/` }),
    () => {
      round += 1;
      const body = JSON.stringify(registration(`service-${round}-COUNT`));
      return load({ ...write, body, url: `${server.address}/v1/catalog/register` });
    },
    () => load({ ...write, body: JSON.stringify(registration('web')), url: `${server.address}/v1/catalog/register` }),
  ]);
  return [
    information('bare node:http', bareRate, '/s'),
    atLeast(`PUT /v1/catalog/register, ${AT_ONCE} at once, each another service`, fresh, 8_000, '/s'),
    information('the same beside bare', fresh / bareRate, '×'),
    information('PUT /v1/catalog/register of what is there already', again, '/s'),
  ];
}

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  for (let i = 0; i < SERVICES; i++) await register(server, `service-${i}`);
  const path = '/v1/health/service/service-7';
  await using bare = await startBare(await server.request('GET', path));
  const headers = { 'X-Service-Token': server.token };
  const at = (url: string) => () => load({ url, headers, atOnce: AT_ONCE, seconds: SECONDS });
  const [bareRate = 0, one = 0, passing = 0] = await compare([
    at(`${bare.address}/`),
    at(`${server.address}${path}`),
    at(`${server.address}${path}?passing`),
  ]);
  return [
    information('bare node:http', bareRate, '/s'),
    information('GET /v1/health/service/:name', one, '/s'),
    atLeast('GET /v1/health/service/:name beside bare', one / bareRate, 0.7, '×'),
    information('GET /v1/health/service/:name?passing beside bare', passing / bareRate, '×'),
  ];
}
