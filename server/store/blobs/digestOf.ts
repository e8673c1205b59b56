import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isMissing } from './fileErrors.ts';

const READ_SIZE = 1_048_576;

/** Returns the SHA-256 of a file in hex; undefined if there is no such file. */
export async function digestOf(file: string, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file, { highWaterMark: READ_SIZE, signal })) {
      hash.update(chunk as Buffer);
    }
    return hash.digest('hex');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
