/** Converts JSON:API error documents to messages. */

import { CommandError } from '../errors.ts';
import { ERROR_TEXT_LENGTH_MAX } from '../limits.ts';
import { printable } from '../output/output.ts';
import { type ClientResponse, errorText } from './client.ts';
import type { Connection } from './connection.ts';

export interface ApiError {
  readonly title: string;
  readonly detail?: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
}

/** Parses the errors of a response. Returns none if it is not an error document, such as a proxy's error page. */
export function parseApiErrors({ text }: Pick<ClientResponse, 'text'>): readonly ApiError[] {
  try {
    const { errors } = JSON.parse(text);
    return Array.isArray(errors) ? errors.filter((error) => typeof error?.title === 'string') : [];
  } catch {
    return [];
  }
}

/** Formats an error in one line: title, detail, and location in the request. */
function describeApiError({ title, detail, source }: ApiError): string {
  const location = source?.pointer ?? source?.parameter;
  const message = detail === undefined ? title : `${title}: ${detail}`;
  return printable(location === undefined ? message : `${message} (${location})`);
}

/** The failed request. `subject` is the requested resource, such as `team acme/dev`. */
interface FailedRequest {
  readonly method: string;
  readonly subject: string;
}

/** Creates the error for a response with a status of 300 or above. */
export function apiResponseError(
  connection: Connection,
  { method, subject }: FailedRequest,
  response: ClientResponse,
): CommandError {
  const { status } = response;
  const errors = parseApiErrors(response);
  // The API does not distinguish a missing resource from a forbidden one.
  if (status === 404 && errors.length > 0) {
    const verb = method === 'GET' ? 'see' : 'change';
    return new CommandError('failed', `${subject}: not found, or you may not ${verb} it`, { status });
  }
  const message = errors.length === 0 ? errorText(response) : errors.map(describeApiError).join('\n');
  const hint = status === 401 ? tokenHint(connection) : '';
  return new CommandError('failed', message.slice(0, ERROR_TEXT_LENGTH_MAX) + hint, { status });
}

function tokenHint({ token, tokenSource }: Connection): string {
  if (token !== undefined) return ` (the token from ${tokenSource} is unknown to the server or has expired)`;
  return ' (no token was sent: set ACCORD_API_TOKEN, or name the directory of credentials.json with --data-dir)';
}
