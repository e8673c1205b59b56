/** A file in a ZIP file. */
export interface ZipEntry {
  path: string;
  bytes: number;
  open(): ReadableStream<Uint8Array>;
}

/** A pack file is at most 50 MiB; larger ZIP files are hashed as what they are. */
export const MAX_PACK_FILE_BYTES = 60_000_000;
const END_BYTES = 65_557;
const MAX_ENTRIES = 20_000;

/**
 * Returns the files in a ZIP file by its central directory, or undefined if it is not one that can be read (ZIP64, an
 * encrypted or otherwise compressed entry).
 */
export async function zipEntries(file: File): Promise<ZipEntry[] | undefined> {
  const tailStart = Math.max(0, file.size - END_BYTES);
  const tail = new DataView(await file.slice(tailStart).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) return undefined;
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (count > MAX_ENTRIES || start + size > file.size) return undefined;
  const directory = new DataView(await file.slice(start, start + size).arrayBuffer());
  const entries: ZipEntry[] = [];
  for (let at = 0, index = 0; index < count; index += 1) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== 0x02014b50) return undefined;
    const flags = directory.getUint16(at + 8, true);
    const method = directory.getUint16(at + 10, true);
    const packed = directory.getUint32(at + 20, true);
    const bytes = directory.getUint32(at + 24, true);
    const nameLength = directory.getUint16(at + 28, true);
    const next =
      at + 46 + nameLength + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
    const header = directory.getUint32(at + 42, true);
    if (next > directory.byteLength || flags & 1 || (method !== 0 && method !== 8)) return undefined;
    const path = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, nameLength));
    if (!path.endsWith('/')) entries.push(await entryAt(file, { path, bytes, packed, header, method }));
    at = next;
  }
  return entries;
}

async function entryAt(
  file: File,
  {
    path,
    bytes,
    packed,
    header,
    method,
  }: { path: string; bytes: number; packed: number; header: number; method: number },
): Promise<ZipEntry> {
  const local = new DataView(await file.slice(header, header + 30).arrayBuffer());
  const data = header + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  const slice = file.slice(data, data + packed);
  return {
    path,
    bytes,
    open: () =>
      method === 0 ? slice.stream() : slice.stream().pipeThrough(new DecompressionStream('deflate-raw')),
  };
}
