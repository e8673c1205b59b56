import { resolve } from 'node:path';
import type { NodeConfig } from '../config.ts';
import { hasDatabase } from '../store/opening/existingArchive.ts';

/** 0: done. 1: a check failed. 2: wrong usage, or the command could not be carried out. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The full text of `--help`. */
  help: string;
  /** `config` holds what the calling program sets for a node that the command opens. */
  run(args: string[], config: Partial<NodeConfig>): Promise<ExitCode>;
}

/** The command was called with arguments that it does not accept. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/**
 * Returns the absolute path of a data folder that holds an archive.
 *
 * @throws UsageError if the folder holds no archive; MissingDatabaseError if it holds an archive without its database
 */
export function archiveFolder(data: string): string {
  const folder = resolve(data);
  if (!hasDatabase(folder)) throw new UsageError(`There is no archive in ${folder}.`);
  return folder;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}
