import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { splitLines } from '../dump/dumpFile.ts';
import { DUMP_KINDS } from '../dump/kinds/kinds.ts';
import { readCopiedNote } from './claim.ts';
import { recordsFiles, statePath } from './copyPaths.ts';
import { type CopyTarget, InvalidCopyError } from './targets/target.ts';

const KIND = /^\{"kind":"([a-z_]+)"/;
const READ_SIZE = 1_048_576;
const WRITE_SIZE = 262_144;

/** The records of a copy in the order of a dump. */
export interface AssembledDump {
  /** The text of the copy's checkpoint. */
  note: string;
  /** The bytes of the dump. They can be read once. */
  chunks: AsyncIterable<Buffer>;
}

/**
 * Puts the records of a copy into the order of a dump, which `checkDump` and `restoreDump` read. The lines of each kind lie
 * in a file of their own until they are read. Memory is bounded by the longest line.
 *
 * @param folder an existing folder, which the caller removes
 * @throws InvalidCopyError if a file is missing or cannot be understood
 */
export async function assembleDump(
  target: CopyTarget,
  folder: string,
  signal: AbortSignal,
): Promise<AssembledDump> {
  const { note, size } = await readCopiedNote(target);
  const parts = new Map<string, Part>();
  try {
    for (const kind of DUMP_KINDS) {
      const file = join(folder, `${kind}.jsonl`);
      parts.set(kind, { file, handle: await open(file, 'w', 0o600), count: 0, pending: [], pendingBytes: 0 });
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
    let header: Buffer | undefined;
    for await (const line of linesIn(target, statePath(size), signal)) {
      if (header) await append(line, statePath(size));
      else requireNote(target, (header = line), note);
    }
    for (const { path } of recordsFiles(size))
      for await (const line of linesIn(target, path, signal)) await append(line, path);
    for (const part of parts.values()) await flush(part);
    return { note, chunks: dumpOf(header ?? Buffer.alloc(0), parts) };
  } finally {
    for (const { handle } of parts.values()) await handle.close();
  }
}

/** Reads the lines of a file of a copy. @throws InvalidCopyError if it is missing */
async function* linesIn(target: CopyTarget, path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const stream = await target.read(path, signal);
  if (!stream) throw new InvalidCopyError(`The copy in ${target.name} is incomplete: ${path} is missing.`);
  yield* splitLines(stream as AsyncIterable<Buffer>);
}

/** The folder for files of gigabytes: on many Linux systems `/tmp` is memory, and `/var/tmp` a disk (file-hierarchy(7)). */
export function folderForLargeFiles(): string {
  const isChosen = process.env.TMPDIR !== undefined || process.platform !== 'linux';
  return isChosen || !existsSync('/var/tmp') ? tmpdir() : '/var/tmp';
}

const NEWLINE = Buffer.from('\n');

/** The lines of one kind, in a file of their own until all of them are there. */
interface Part {
  file: string;
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

/** Yields a dump, and removes each file when it was read. */
async function* dumpOf(header: Buffer, parts: ReadonlyMap<string, Part>): AsyncGenerator<Buffer> {
  const sha256 = createHash('sha256');
  const counts: Record<string, number> = {};
  const first = Buffer.concat([header, NEWLINE]);
  sha256.update(first);
  yield first;
  for (const [kind, { file, count }] of parts) {
    counts[kind] = count;
    for await (const chunk of createReadStream(file, { highWaterMark: READ_SIZE }) as AsyncIterable<Buffer>) {
      sha256.update(chunk);
      yield chunk;
    }
    await rm(file);
  }
  yield Buffer.from(`${JSON.stringify({ kind: 'trailer', counts, sha256: sha256.digest('hex') })}\n`);
}
