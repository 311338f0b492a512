/** What the API refuses, in its own words. */
import { type Answer, refusalWords } from '../../client/client.ts';
import type { Connection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { REFUSAL_LENGTH_MAX } from '../../limits.ts';
import { printable } from '../../output/output.ts';

/** One thing that is wrong with a request. */
export interface Fault {
  readonly title: string;
  readonly detail?: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
}

/** The faults that an answer tells; none where it is no error document, such as a proxy's. */
export function faultsIn({ text }: Pick<Answer, 'text'>): readonly Fault[] {
  try {
    const { errors } = JSON.parse(text);
    return Array.isArray(errors) ? errors.filter((fault) => typeof fault?.title === 'string') : [];
  } catch {
    return [];
  }
}

/** A fault in one line: title, detail, and where in the request. */
function faultWords({ title, detail, source }: Fault): string {
  const where = source?.pointer ?? source?.parameter;
  const words = detail === undefined ? title : `${title}: ${detail}`;
  return printable(where === undefined ? words : `${words} (${where})`);
}

/** What was asked: `about` names it for people, such as `team acme/dev`. */
interface Asked {
  readonly method: string;
  readonly about: string;
}

/** The error for an answer from 300 on. */
export function refusalOf(connection: Connection, { method, about }: Asked, answer: Answer): CommandError {
  const { status } = answer;
  const faults = faultsIn(answer);
  // What is not there and what may not be known are one answer, so both are said.
  if (status === 404 && faults.length > 0) {
    return new CommandError(
      'refused',
      `${about}: not found, or you may not ${method === 'GET' ? 'see' : 'change'} it`,
      {
        status,
      },
    );
  }
  const words = faults.length === 0 ? refusalWords(answer) : faults.map(faultWords).join('\n');
  const hint = status === 401 ? tokenHint(connection) : '';
  return new CommandError('refused', words.slice(0, REFUSAL_LENGTH_MAX) + hint, { status });
}

function tokenHint({ token, tokenFrom }: Connection): string {
  if (token !== undefined) return ` (the token from ${tokenFrom} is unknown to the server, or has expired)`;
  return ' (no token was sent: set ACCORD_API_TOKEN, or run where the first credentials are, see --data-dir)';
}
