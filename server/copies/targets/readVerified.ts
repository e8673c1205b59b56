import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isMissing, isUnreadable } from '../../store/blobs/fileErrors.ts';
import { DamagedSourceError } from './target.ts';

const CHUNK = 1_048_576;

/**
 * Yields the bytes of a stored object and hashes them. The consumer must not publish what it wrote before the generator
 * has returned.
 *
 * @throws DamagedSourceError if the file is missing, unreadable or has another digest
 */
export async function* readVerified({
  file,
  sha256,
}: {
  file: string;
  sha256: string;
}): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (cause) {
    if (isMissing(cause) || isUnreadable(cause)) throw new DamagedSourceError(sha256, { cause });
    throw cause;
  }
  if (hash.digest('hex') !== sha256) throw new DamagedSourceError(sha256);
}
