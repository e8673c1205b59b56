import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileDurably } from '../../store/blobs/durableFile.ts';
import { isMissing } from '../../store/blobs/fileErrors.ts';

/** The access key of a bucket. */
export interface Credentials {
  access_key: string;
  secret_key: string;
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

/** The last write to the file of each data folder. */
const lastWrite = new Map<string, Promise<void>>();

/** Keeps the access key of a copy, or forgets it. Writes wait for each other, because each changes one key of the file. */
export function writeCredentials(
  folder: string,
  copy: string,
  credentials: Credentials | undefined,
): Promise<void> {
  const change = async () => {
    const all = await readCredentials(folder);
    if (credentials) all[copy] = credentials;
    else delete all[copy];
    await writeFileDurably(credentialsFile(folder), `${JSON.stringify(all)}\n`, 0o600);
  };
  // Whoever asked for the write before gets its error.
  const write = (lastWrite.get(folder) ?? Promise.resolve()).then(change, change);
  lastWrite.set(folder, write);
  return write;
}
