import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';

/** A file that is not a dump, is truncated or was altered. Nothing of it was imported. */
export class DumpError extends Error {
  /** The number of the invalid line, from 1; undefined if the fault is not in one line. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.name = 'DumpError';
    this.line = line;
  }
}

/** Opens a checkpoint in a dump with the key that is said to have signed it. @throws DumpError */
export function openCheckpointIn(note: string, key: string, line: number): Checkpoint {
  try {
    const checkpoint = openCheckpoint(note, key);
    if (checkpoint.origin !== keyNameOf(key)) throw new DumpError('the checkpoint is of another log.', line);
    return checkpoint;
  } catch (error) {
    if (error instanceof CheckpointError)
      throw new DumpError(`the checkpoint is invalid: ${error.message}`, line);
    throw error;
  }
}

/**
 * What the archive signs of a dump (C2SP signed-note): whose it is, the digest of all bytes before the trailer, and how many
 * lines of each kind there are.
 */
export function dumpStatement(
  node: string,
  { sha256, counts }: { sha256: string; counts: Readonly<Record<string, number>> },
): `strongroom.${string}` {
  return `strongroom.dump/v1\n${node}\n${sha256}\n${canonicalText(counts)}\n`;
}

/** The size of the chunks in which a file is read, in bytes. */
export const READ_SIZE = 1_048_576;
/** Longer than any line that a node writes. The longest lines hold the record of a pack. */
const MAX_LINE_BYTES = 64 * 1_048_576;
const NEWLINE = 10;
const END_OF_OBJECT = 0x7d;

/** Splits a dump into lines, without their line feeds. Memory is bounded by the longest line. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const { buffer, byteOffset, length } of chunks) {
    const chunk = Buffer.from(buffer, byteOffset, length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...pending, chunk.subarray(start, end)]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    pendingBytes += chunk.length - start;
    if (pendingBytes > MAX_LINE_BYTES)
      throw new DumpError('This is not a dump: it has a line longer than any that a node writes.');
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
  const last = Buffer.concat(pending);
  // Some tools remove the last line feed; that does no harm.
  if (last.at(-1) === END_OF_OBJECT) yield last;
  else if (pendingBytes > 0) throw new DumpError('The dump is truncated: its last line is incomplete.');
}
