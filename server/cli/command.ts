/** How a command ended: 0 done, 1 a check failed, 2 wrong use or it could not be done. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The whole of `--help`. */
  help: string;
  run(args: string[]): Promise<ExitCode>;
}

/** The command was called with words it does not take. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}
