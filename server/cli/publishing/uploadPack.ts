import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { RunningNode } from '../runningNode.ts';

/** A file to send: a range of a file on this disk, or bytes in memory. */
export type UploadedFile = { path: string } & (
  | { source: string; start: number; bytes: number }
  | { content: readonly Uint8Array[] }
);

/** A file was shortened, or could not be read, while it was sent. */
export class FileChangedError extends Error {
  constructor(path: string, options?: ErrorOptions) {
    super(`${path} changed while it was being sent. Run the command again.`, options);
    this.name = 'FileChangedError';
  }
}

/** The size of a read. */
const CHUNK_BYTES = 262_144;

/**
 * Sends a pack as multipart/form-data (RFC 7578) while its files are read, and compares the digests that the node
 * computed with those of what was read.
 *
 * @param record the record without its files
 * @throws FileChangedError; RefusedByNodeError; Error if the node does not answer, or has other digests
 */
export async function uploadPack(
  node: RunningNode,
  record: object,
  files: readonly UploadedFile[],
  onRead: (bytes: number) => void,
): Promise<Pack> {
  const boundary = `strongroom-${randomBytes(16).toString('hex')}`;
  const digests = new Map<string, string>();
  let failure: unknown;
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="record"\r\n\r\n${JSON.stringify(record)}\r\n`,
    );
    for (const file of files) {
      yield Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${file.path}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
      );
      const hash = createHash('sha256');
      try {
        for await (const chunk of contentOf(file)) {
          hash.update(chunk);
          onRead(chunk.length);
          yield chunk;
        }
      } catch (error) {
        failure = error;
        throw error;
      }
      digests.set(file.path, hash.digest('hex'));
      yield Buffer.from('\r\n');
    }
    yield Buffer.from(`--${boundary}--\r\n`);
  }
  const type = `multipart/form-data; boundary=${boundary}`;
  const pack = (await node.request('POST', '/api/packs', { type, bytes: body() }).catch((error: unknown) => {
    throw failure ?? error;
  })) as Pack;
  for (const { path, sha256 } of pack.files)
    if (digests.get(path) !== sha256) throw new Error(`The node has other bytes of ${path} than were sent.`);
  return pack;
}

async function* contentOf(file: UploadedFile): AsyncGenerator<Uint8Array> {
  if ('content' in file) return yield* file.content;
  const { source, start, bytes } = file;
  if (bytes === 0) return;
  let missing = bytes;
  const options = { start, end: start + bytes - 1, highWaterMark: CHUNK_BYTES };
  for await (const chunk of createReadStream(source, options) as AsyncIterable<Buffer>) {
    missing -= chunk.length;
    yield chunk;
  }
  if (missing !== 0) throw new FileChangedError(file.path);
}

/** Returns the digest of a file on this disk, or of a range of it. */
export async function digestOfFile(
  source: string,
  range: { start?: number; end?: number } = {},
): Promise<string> {
  const hash = createHash('sha256');
  const chunks = createReadStream(source, { ...range, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}
