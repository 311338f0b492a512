/** Discovery endpoints, which need no token ([TEAM-3], [TEAM-4]). */
import { Type } from 'typebox';
import type { Endpoint } from '../../http/endpoint.ts';
import { servePublic, type TeamAccessService } from './request-pipeline.ts';

const BASE = '/api/v2/';
/** The HCP Terraform API version that clients check. */
const API_VERSION = '2.6';

const VERSION_HEADER = { name: 'TFP-API-Version', description: 'Version of the API.', schema: Type.String() };

export const discoveryEndpoints = (service: TeamAccessService): readonly Endpoint[] => [
  {
    method: 'GET',
    path: '/api/v2/ping',
    summary: 'Checks that the API is available',
    open: true,
    status: 204,
    answerHeaders: [VERSION_HEADER],
    handle: (call) =>
      servePublic(service, call, () => ({ status: 204, body: '', headers: [VERSION_HEADER.name, API_VERSION] })),
  },
  {
    method: 'GET',
    path: '/.well-known/terraform.json',
    summary: 'Returns the path of the API',
    open: true,
    handle: () => ({
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({ 'tfe.v2': BASE, 'tfe.v2.1': BASE, 'tfe.v2.2': BASE }),
    }),
  },
];
