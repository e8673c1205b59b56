import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { ZipFile } from 'yazl';

/** What a ZIP is made of: a folder, or a file whose size and CRC are known before its bytes are read. */
export type ZipPart =
  | { name: string; folder: true }
  | { name: string; bytes: number; crc: number; read: () => AsyncIterable<Uint8Array> };

/** Local header, central directory record and end record without what varies in length. */
const LOCAL_HEADER = 30;
const CENTRAL_RECORD = 46;
const END_RECORD = 22;

/** How many bytes `storedZip` makes of these parts. */
export function storedZipBytes(parts: Iterable<{ name: string; bytes?: number }>): number {
  let total = END_RECORD;
  for (const { name, bytes = 0 } of parts) {
    total += LOCAL_HEADER + CENTRAL_RECORD + 2 * Buffer.byteLength(name) + bytes;
  }
  return total;
}

/**
 * A ZIP whose bytes follow from its parts alone. Nothing is compressed, because releases of zlib differ in what they
 * make of the same bytes; each entry is dated 1980-01-01, is a plain file anyone may read, and has no extra field.
 * Bytes are read as they are asked for; a file whose bytes are not the ones announced breaks the stream.
 */
export function storedZip(parts: readonly ZipPart[]): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const announce = announcer(zip);
  let open: Readable | undefined;
  zip.on('error', (error: Error) => output.destroy(error));
  output.on('close', () => open?.destroy());
  for (const part of parts) {
    if ('folder' in part) {
      zip.addEmptyDirectory(part.name, { ...SAME_EVERYWHERE, mode: 0o40755 });
      continue;
    }
    announce(part);
    const options = { ...SAME_EVERYWHERE, mode: 0o100644, compress: false, size: part.bytes };
    zip.addReadStreamLazy(part.name, options, (give) => {
      open = Readable.from(checked(part), { objectMode: false });
      open.on('error', (error) => output.destroy(error));
      give(undefined, open);
    });
  }
  zip.end();
  return output;
}

const SAME_EVERYWHERE = { mtime: new Date(0), forceDosTimestamp: true };

/**
 * yazl writes size and CRC behind a file that it streams, where some readers (Java's ZipInputStream, 7-Zip 9) do not
 * look for them in an entry that is not compressed. Here both are known before, so the entry is told them as yazl
 * queues it, which is the last moment before it may write the header; it then treats the entry like a buffer.
 */
function announcer(zip: ZipFile): (part: { bytes: number; crc: number }) => void {
  const { entries } = zip as unknown as { entries: object[] };
  return ({ bytes, crc }) => {
    entries.push = (entry) => {
      Object.assign(entry, { crc32: crc, compressedSize: bytes, crcAndFileSizeKnown: true });
      entries.push = Array.prototype.push;
      return entries.push(entry);
    };
  };
}

/** The bytes of a part, which must be the ones that its header announced. */
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
