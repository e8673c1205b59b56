import { createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { NodeClient } from '../node/nodeClient.ts';

/** A file to send: a range of a file on this disk, or bytes in memory. */
export type UploadedFile = { path: string } & (
  | { source: string; start: number; bytes: number }
  | { content: Iterable<Uint8Array> }
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
/** The memory of reads that have ended. A folder may have 100,000 files, and memory that is not used again is freed late. */
const unused: Buffer[] = [];

/**
 * Sends a pack as multipart/form-data (RFC 7578) while its files are read, and compares the digests that the node
 * computed with those of what was read.
 *
 * @param upload the record without its files, and the digest of the file that the one file sent is a piece of
 * @throws FileChangedError; RefusedByNodeError; Error if the node does not answer, or has other digests
 */
export async function uploadPack(
  node: NodeClient,
  { record, pieceOf }: { record: object; pieceOf?: string | undefined },
  files: readonly UploadedFile[],
  onRead: (bytes: number) => void,
): Promise<Pack> {
  const boundary = `strongroom-${randomBytes(16).toString('hex')}`;
  const digests = new Map<string, string>();
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="record"\r\n\r\n${JSON.stringify(record)}\r\n`,
    );
    for (const file of files) {
      yield Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${file.path}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
      );
      const hash = createHash('sha256');
      for await (const chunk of contentOf(file)) {
        hash.update(chunk);
        onRead(chunk.length);
        yield chunk;
      }
      digests.set(file.path, hash.digest('hex'));
      yield Buffer.from('\r\n');
    }
    yield Buffer.from(`--${boundary}--\r\n`);
  }
  const type = `multipart/form-data; boundary=${boundary}`;
  const { json: pack } = await node.send('addPack', {
    type,
    chunks: body(),
    query: { piece_of: pieceOf },
  });
  for (const { path, sha256 } of pack.files)
    if (digests.get(path) !== sha256) throw new Error(`The node has other bytes of ${path} than were sent.`);
  return pack;
}

async function* contentOf(file: UploadedFile): AsyncGenerator<Uint8Array> {
  if ('content' in file) return yield* file.content;
  const { source, start, bytes } = file;
  yield* readRange(source, { start, bytes }, () => new FileChangedError(file.path));
}

/**
 * Reads a range of a file. All chunks share their memory, so one is valid until the next one is asked for.
 *
 * @param tooShort makes the error for a file that ends within the range
 */
async function* readRange(
  source: string,
  { start, bytes }: { start: number; bytes: number },
  tooShort: () => Error,
): AsyncGenerator<Uint8Array> {
  const handle = await open(source);
  const buffer = unused.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  try {
    for (let done = 0; done < bytes; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - done), start + done);
      if (bytesRead === 0) throw tooShort();
      done += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    unused.push(buffer);
    await handle.close();
  }
}

/** Returns the digest of a range of a file on this disk. @throws FileChangedError if the file ends within it */
export async function digestOfRange(
  source: string,
  range: { start: number; bytes: number },
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readRange(source, range, () => new FileChangedError(source))) hash.update(chunk);
  return hash.digest('hex');
}
