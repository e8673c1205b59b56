import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { FetchedFile } from './target.ts';

/** Up to this size, an object is held in memory. */
const HELD_BYTES = 4_194_304;

/** Hashes a stream. `onBytes` is called with the numbers of bytes read. */
export async function digestOfStream(
  stream: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void = () => {},
): Promise<{ sha256: string; bytes: number }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of stream) {
    digest.update(chunk);
    bytes += chunk.length;
    onBytes(chunk.length);
  }
  return { sha256: digest.digest('hex'), bytes };
}

/** Writes a stream to a file and hashes it. Returns false, and leaves no file, if it has another digest. */
export async function writeVerified(
  stream: Readable,
  { file, sha256, bytes }: FetchedFile,
): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  if (bytes <= HELD_BYTES) {
    const content = await buffer(upTo(bytes, stream));
    if (hash('sha256', content, 'hex') !== sha256) return false;
    await writeFile(file, content, { mode: 0o600 });
    return true;
  }
  const digest = createHash('sha256');
  async function* hashed() {
    for await (const chunk of upTo(bytes, stream)) {
      digest.update(chunk);
      yield chunk;
    }
  }
  await pipeline(Readable.from(hashed(), { objectMode: false }), createWriteStream(file, { mode: 0o600 }));
  if (digest.digest('hex') === sha256) return true;
  await rm(file);
  return false;
}

/** Ends a stream soon after the number of bytes that it should have, so that a wrong one fills neither memory nor disk. */
async function* upTo(bytes: number, stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream) {
    yield chunk;
    read += chunk.length;
    if (read > bytes) return;
  }
}
