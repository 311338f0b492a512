/** What clients ask first: whether the API is there, and where. Nobody needs a token for it. */
import { Type } from 'typebox';
import type { Endpoint } from '../../http/endpoint.ts';
import { serveOpen, type TeamAccess } from './request-pipeline.ts';

const BASE = '/api/v2/';
/** The version of the API that clients of such services look at. */
const API_VERSION = '2.6';

const VERSION_HEADER = { name: 'TFP-API-Version', description: 'What clients adapt to.', schema: Type.String() };

/** `GET /api/v2/ping`, from which clients learn how many requests they may make, and `GET /.well-known/terraform.json`. */
export const discoveryEndpoints = (service: TeamAccess): readonly Endpoint[] => [
  {
    method: 'GET',
    path: '/api/v2/ping',
    summary: 'Tells that the API is there',
    open: true,
    status: 204,
    answerHeaders: [VERSION_HEADER],
    handle: (call) =>
      serveOpen(service, call, () => ({ status: 204, body: '', headers: [VERSION_HEADER.name, API_VERSION] })),
  },
  {
    method: 'GET',
    path: '/.well-known/terraform.json',
    summary: 'Tells clients where the API is',
    open: true,
    handle: () => ({
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({ 'tfe.v2': BASE, 'tfe.v2.1': BASE, 'tfe.v2.2': BASE }),
    }),
  },
];
