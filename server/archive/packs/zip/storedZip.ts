import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { ZipFile } from 'yazl';

/** A part of a ZIP: a folder, or a file whose size and CRC are known in advance. */
export type ZipPart =
  | { name: string; folder: true }
  | { name: string; bytes: number; crc: number; read: () => AsyncIterable<Uint8Array> };

/** The fixed lengths of a local header, a central directory record and the end record. */
const LOCAL_HEADER = 30;
const CENTRAL_RECORD = 46;
const END_RECORD = 22;

/** Returns the size of the ZIP that `storedZip` writes. */
export function storedZipBytes(parts: Iterable<{ name: string; bytes?: number }>): number {
  let total = END_RECORD;
  for (const { name, bytes = 0 } of parts) {
    total += LOCAL_HEADER + CENTRAL_RECORD + 2 * Buffer.byteLength(name) + bytes;
  }
  return total;
}

/**
 * Streams a ZIP whose bytes depend only on its parts. Nothing is compressed, because versions of zlib produce different
 * output. Each entry has the date 1980-01-01 and mode 0644, and no extra fields. Files are read lazily. A file with a
 * different size or CRC than declared makes the stream fail.
 */
export function storedZip(parts: readonly ZipPart[]): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const declare = declarer(zip);
  let open: Readable | undefined;
  zip.on('error', (error: Error) => output.destroy(error));
  output.on('close', () => open?.destroy());
  for (const part of parts) {
    if ('folder' in part) {
      zip.addEmptyDirectory(part.name, { ...SAME_EVERYWHERE, mode: 0o40755 });
      continue;
    }
    declare(part);
    const options = { ...SAME_EVERYWHERE, mode: 0o100644, compress: false, size: part.bytes };
    zip.addReadStreamLazy(part.name, options, (provide) => {
      open = Readable.from(checked(part), { objectMode: false });
      open.on('error', (error) => output.destroy(error));
      provide(undefined, open);
    });
  }
  zip.end();
  return output;
}

const SAME_EVERYWHERE = { mtime: new Date(0), forceDosTimestamp: true };

/**
 * For streamed files yazl writes size and CRC after the data. Some readers (Java's ZipInputStream, 7-Zip 9) do not
 * support that for uncompressed entries. Here both are known in advance, so they are set on the entry when yazl queues
 * it, before it can write the header. yazl then treats the entry like a buffer.
 */
function declarer(zip: ZipFile): (part: { bytes: number; crc: number }) => void {
  const { entries } = zip as unknown as { entries: object[] };
  return ({ bytes, crc }) => {
    entries.push = (entry) => {
      Object.assign(entry, { crc32: crc, compressedSize: bytes, crcAndFileSizeKnown: true });
      entries.push = Array.prototype.push;
      return entries.push(entry);
    };
  };
}

/** Reads the bytes of a part. @throws Error if they do not match the declared size and CRC. */
async function* checked(part: { bytes: number; crc: number; read: () => AsyncIterable<Uint8Array> }) {
  let bytes = 0;
  let crc = 0;
  for await (const chunk of part.read()) {
    bytes += chunk.length;
    crc = crc32(chunk, crc);
    if (bytes > part.bytes) break;
    yield chunk;
  }
  if (bytes !== part.bytes || crc !== part.crc) throw new Error('A file changed while it was being packed.');
}
