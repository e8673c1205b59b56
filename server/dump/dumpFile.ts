import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { DUMP_FORMAT } from '../../shared/dump.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';

/** A file that is no dump, or not a whole one; nothing was read from it. */
export class DumpError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DumpError';
  }
}

/** What a dump says of itself, checked. */
export interface DumpHead {
  node: string;
  verifierKey: string;
  checkpoint: Checkpoint;
  counts: Record<string, number>;
}

const READ_SIZE = 1_048_576;
/** Longer than any line a node writes: the record of a pack is the longest thing in it. */
const MAX_LINE_BYTES = 64 * 1_048_576;
const NEWLINE = 10;

/** The lines of a file as bytes, without their ends; memory is bounded by the longest line. */
export async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let held = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: READ_SIZE }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      held = 0;
      start = end + 1;
    }
    held += chunk.length - start;
    if (held > MAX_LINE_BYTES) throw new DumpError('This is no dump: it has a line that no node writes.');
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
  if (held > 0) throw new DumpError('The dump is cut short: its last line has no end.');
}

/**
 * Reads a dump from its first byte to its last without believing it: the trailer must be there and its digest be that
 * of every byte before it.
 *
 * @throws DumpError with a sentence where the file is no dump, was cut short or was altered.
 */
export async function checkDump(file: string): Promise<DumpHead> {
  const sha256 = createHash('sha256');
  let header: Record<string, unknown> | undefined;
  let last: Buffer | undefined;
  for await (const line of linesOf(file)) {
    header ??= parseLine(line);
    if (last) sha256.update(last).update('\n');
    last = line;
  }
  if (header?.kind !== 'header') throw new DumpError('This is no dump: it does not begin with a header.');
  if (header.format !== DUMP_FORMAT) {
    throw new DumpError(
      `This dump has format ${String(header.format)}; this Strongroom reads ${DUMP_FORMAT}.`,
    );
  }
  const trailer = last && parseLine(last);
  if (trailer?.kind !== 'trailer') throw new DumpError('The dump is cut short: it has no trailer.');
  if (trailer.sha256 !== sha256.digest('hex')) {
    throw new DumpError('The dump was altered: its bytes do not have the digest in its trailer.');
  }
  return {
    node: String(header.node),
    verifierKey: String(header.key),
    checkpoint: checkpointOf(String(header.checkpoint), String(header.key)),
    counts: trailer.counts as Record<string, number>,
  };
}

function checkpointOf(note: string, key: string): Checkpoint {
  try {
    return openCheckpoint(note, key);
  } catch (error) {
    if (error instanceof CheckpointError)
      throw new DumpError(`The dump's checkpoint does not hold: ${error.message}`);
    throw error;
  }
}

/** @throws DumpError where the line is no JSON object. */
export function parseLine(line: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null)
    throw new DumpError('This is no dump: a line of it is no JSON object.');
  return value as Record<string, unknown>;
}
