import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { splitLines } from '../../dump/dumpFile.ts';
import { DUMP_KINDS } from '../../store/sqlite/node/dump.ts';
import { readCopiedNote } from '../claim.ts';
import { recordsFiles, statePath } from '../copyPaths.ts';
import { readBytes } from '../readBytes.ts';
import { type CopyTarget, InvalidCopyError } from '../targets/target.ts';

const KIND = /^\{"kind":"([a-z_]+)"/;
const READ_SIZE = 1_048_576;
const WRITE_SIZE = 262_144;
const MAX_STATE_BYTES = 1_073_741_824;

/**
 * Puts the records of a copy into the order of a dump and writes that dump to a file, so that `restoreDump` can check
 * and restore it. Memory is bounded by the state and the longest line.
 *
 * @returns the text of the copy's checkpoint
 * @throws InvalidCopyError if a file is missing or cannot be understood
 */
export async function assembleDump(
  target: CopyTarget,
  file: string,
  signal: AbortSignal,
): Promise<{ note: string }> {
  const { note, size } = await readCopiedNote(target);
  const parts = new Map<string, Part>();
  const partFile = (kind: string) => `${file}.${kind}`;
  try {
    for (const kind of DUMP_KINDS) {
      const handle = await open(partFile(kind), 'w', 0o600);
      parts.set(kind, { handle, count: 0, pending: [], pendingBytes: 0 });
    }
    const append = async (line: Buffer, from: string) => {
      const kind = KIND.exec(line.subarray(0, 64).toString())?.[1] ?? '';
      const part = parts.get(kind);
      if (!part) throw new InvalidCopyError(`${from} in ${target.name} has a line that no node writes.`);
      part.count += 1;
      part.pending.push(line, NEWLINE);
      part.pendingBytes += line.length + 1;
      if (part.pendingBytes >= WRITE_SIZE) await flush(part);
    };
    const state = await readBytes(target, statePath(size), MAX_STATE_BYTES);
    if (!state) throw missing(target, statePath(size));
    const [header = Buffer.alloc(0), ...lines] = await collect(splitLines(oneChunk(state)));
    requireNote(target, header, note);
    for (const line of lines) await append(line, statePath(size));
    for (const { path } of recordsFiles(size)) {
      signal.throwIfAborted();
      const stream = await target.read(path, signal);
      if (!stream) throw missing(target, path);
      for await (const line of splitLines(stream as AsyncIterable<Buffer>)) await append(line, path);
    }
    for (const part of parts.values()) {
      await flush(part);
      await part.handle.close();
    }
    await writeDumpFile(file, header, parts, partFile);
    return { note };
  } finally {
    for (const [kind, { handle }] of parts) {
      await handle.close().catch(() => undefined);
      await rm(partFile(kind), { force: true });
    }
  }
}

const NEWLINE = Buffer.from('\n');

/** The lines of one kind, in a file of their own until all of them are there. */
interface Part {
  handle: FileHandle;
  count: number;
  pending: Buffer[];
  pendingBytes: number;
}

async function flush(part: Part): Promise<void> {
  if (part.pendingBytes === 0) return;
  const bytes = Buffer.concat(part.pending);
  [part.pending, part.pendingBytes] = [[], 0];
  await part.handle.appendFile(bytes);
}

/** The header of the state is that of a dump, whose checkpoint must be the copy's. */
function requireNote(target: CopyTarget, header: Buffer, note: string): void {
  const text = JSON.stringify({ checkpoint: note }).slice(1, -1);
  if (!header.includes(text))
    throw new InvalidCopyError(`The state in ${target.name} is not that of its checkpoint.`);
}

async function writeDumpFile(
  file: string,
  header: Buffer,
  parts: ReadonlyMap<string, { count: number }>,
  partFile: (kind: string) => string,
): Promise<void> {
  const output = await open(file, 'w', 0o600);
  const sha256 = createHash('sha256');
  const write = async (bytes: Buffer) => {
    sha256.update(bytes);
    await output.appendFile(bytes);
  };
  try {
    await write(Buffer.concat([header, NEWLINE]));
    const counts: Record<string, number> = {};
    for (const [kind, { count }] of parts) {
      counts[kind] = count;
      for await (const chunk of createReadStream(partFile(kind), { highWaterMark: READ_SIZE }))
        await write(chunk);
    }
    await output.appendFile(`${JSON.stringify({ kind: 'trailer', counts, sha256: sha256.digest('hex') })}\n`);
  } finally {
    await output.close();
  }
}

function missing(target: CopyTarget, path: string): InvalidCopyError {
  return new InvalidCopyError(`The copy in ${target.name} is incomplete: ${path} is missing.`);
}

async function* oneChunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function collect(lines: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const line of lines) all.push(line);
  return all;
}
