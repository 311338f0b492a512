/** Why a command failed; the closed set of reasons behind the exit codes. */
export type CommandErrorCode = 'refused' | 'usage' | 'unreachable' | 'unknown';

/** The exit code of each reason. 0 is done, 130 is interrupted. `unknown`: the server that was asked cannot tell. */
export const exitCodes: Readonly<Record<CommandErrorCode, number>> = {
  refused: 1,
  usage: 2,
  unreachable: 3,
  unknown: 4,
};

/** A failure that the user can act on; `message` is all that is shown. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: CommandErrorCode;
  /** What the server answered, where it refused. */
  readonly status: number | undefined;

  constructor(code: CommandErrorCode, message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.code = code;
    this.status = options.status;
  }
}
