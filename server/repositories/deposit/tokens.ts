import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import { isMissing, writeFileDurably } from '../../store/files.ts';

const schema = z.record(z.string(), z.string());

/**
 * The tokens of repositories, by the repository's id, in a file of the data folder that only its owner can read. They are
 * in no dump, copy or export, and never shown or logged.
 */
export class RepositoryTokens {
  readonly #file: string;
  readonly #oneAtATime = pLimit(1);

  constructor(folder: string) {
    this.#file = join(folder, 'repository-tokens');
  }

  async all(): Promise<Record<string, string>> {
    try {
      return schema.parse(JSON.parse(await readFile(this.#file, 'utf8')));
    } catch (error) {
      if (isMissing(error)) return {};
      throw error;
    }
  }

  /** Keeps the token of a repository, or forgets it. */
  set(repository: string, token: string | undefined): Promise<void> {
    return this.#oneAtATime(async () => {
      const tokens = await this.all();
      if (token === undefined) delete tokens[repository];
      else tokens[repository] = token;
      await writeFileDurably(this.#file, `${JSON.stringify(tokens)}\n`, 0o600);
    });
  }
}
