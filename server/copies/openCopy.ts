import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isMissing, writeFileDurably } from '../store/files.ts';
import { type CopyRow, copyById } from '../store/sqlite/node/copies.ts';
import type { Store } from '../store/store.ts';
import { openTarget } from './targets/openTarget.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

/** The access key of a bucket. */
export interface Credentials {
  access_key: string;
  secret_key: string;
}

/** Opens a copy, with its access key or the given one. The caller closes it. @throws CopyError */
export async function openCopy(folder: string, copy: CopyRow, given?: Credentials): Promise<CopyTarget> {
  const credentials = given ?? (await readCredentials(folder))[copy.id];
  return openTarget({ ...copy, ...credentials });
}

/** Opens a copy that may have been removed meanwhile. @throws CopyError */
export async function openCopyById(
  { read, folder }: Pick<Store, 'read' | 'folder'>,
  id: string,
): Promise<CopyTarget> {
  const copy = copyById(read, id);
  if (!copy) throw new CopyError('The copy was removed.');
  return openCopy(folder, copy);
}

const schema = z.record(z.string(), z.object({ access_key: z.string(), secret_key: z.string() }));

/** The access keys of the copies, by the copy's id, in a file of the data folder that only its owner can read. */
function credentialsFile(folder: string): string {
  return join(folder, 'copy-credentials');
}

export async function readCredentials(folder: string): Promise<Record<string, Credentials>> {
  try {
    return schema.parse(JSON.parse(await readFile(credentialsFile(folder), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
}

/** Changes the file of access keys. Writes wait for each other, because each changes one key of the file. */
export class CredentialsWriter {
  readonly #folder: string;
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Keeps the access key of a copy, or forgets it. */
  set(copy: string, credentials: Credentials | undefined): Promise<void> {
    const change = async () => {
      const all = await readCredentials(this.#folder);
      if (credentials) all[copy] = credentials;
      else delete all[copy];
      await writeFileDurably(credentialsFile(this.#folder), `${JSON.stringify(all)}\n`, 0o600);
    };
    // Whoever asked for the write before gets its error.
    const write = this.#last.then(change, change);
    this.#last = write;
    return write;
  }
}
