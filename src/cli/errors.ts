/** The reason of a failed command. Each reason has an exit code. */
export type CommandErrorCode = 'failed' | 'usage' | 'unreachable' | 'unknown';

/** Exit codes. 0 means success and 130 interruption. `unknown` means that the server cannot determine the answer. */
export const exitCodes: Readonly<Record<CommandErrorCode, number>> = {
  failed: 1,
  usage: 2,
  unreachable: 3,
  unknown: 4,
};

/** An error that the user can act on. Only `message` is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: CommandErrorCode;
  /** The HTTP status, if the server rejected the request. */
  readonly status: number | undefined;

  constructor(code: CommandErrorCode, message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.code = code;
    this.status = options.status;
  }
}
