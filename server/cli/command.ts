import { resolve } from 'node:path';
import type { NodeConfig } from '../config.ts';
import { hasDatabase } from '../store/opening/existingArchive.ts';

/** How a command ended: 0 done, 1 a check failed, 2 wrong use or it could not be done. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The whole of `--help`. */
  help: string;
  /** `node` is what the program that runs the command gives to a node that it opens. */
  run(args: string[], node: Partial<NodeConfig>): Promise<ExitCode>;
}

/** The command was called with words it does not take. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The options that most commands take, as `parseArgs` is told of them. */
export const DATA_OPTION = { type: 'string', default: 'strongroom-data' } as const;
export const JSON_OPTION = { type: 'boolean', default: false } as const;

/**
 * The whole path of a data folder that holds an archive.
 *
 * @throws UsageError where it holds none; MissingDatabaseError where it holds what is left of one
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
