/** A file that is no dump, not a whole one, or one that was altered; nothing of it was kept. */
export class DumpError extends Error {
  /** The line that is wrong, counted from 1; undefined where it is none of them. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.name = 'DumpError';
    this.line = line;
  }
}

/** How much of a file is read at a time. */
export const READ_SIZE = 1_048_576;
/** Longer than any line a node writes: the record of a pack is the longest thing in it. */
const MAX_LINE_BYTES = 64 * 1_048_576;
const NEWLINE = 10;
const END_OF_OBJECT = 0x7d;

/** The lines of a dump as bytes, without their ends; memory is bounded by the longest line. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let held = 0;
  for await (const { buffer, byteOffset, length } of chunks) {
    const chunk = Buffer.from(buffer, byteOffset, length);
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
  const last = Buffer.concat(rest);
  // The line feed alone may be gone: tools take it off that mean no harm.
  if (last.at(-1) === END_OF_OBJECT) yield last;
  else if (held > 0) throw new DumpError('The dump is cut short: its last line has no end.');
}
