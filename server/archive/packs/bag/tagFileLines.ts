import { Problem } from '../../../../shared/problems.ts';
import { tagDecoder } from './tagEncoding.ts';

/** A readable file of a bag, in a folder or in a ZIP. */
export interface BagFile {
  bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Much longer than any valid path. */
const MAX_LINE_LENGTH = 1_048_576;
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Returns the lines of a tag file in batches, as it is read. Lines end with LF, CR or CRLF; the last line end is optional.
 * BagIt does not allow a byte order mark in UTF-8.
 *
 * @throws Problem `invalid_pack_file` if the file is larger than `maxBytes` or is not valid in its encoding.
 */
export async function* tagFileLines(
  name: string,
  file: BagFile,
  maxBytes: number,
  encoding = 'UTF-8',
): AsyncGenerator<string[]> {
  requireAtMost(name, file, maxBytes);
  const decoder = tagDecoder(encoding);
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder?.(chunk) ?? '';
    } catch (error) {
      throw notText(name, encoding, error);
    }
  };
  let isFirst = true;
  /** The text after the last line end. */
  let rest = '';
  for await (const chunk of file.read()) {
    const text = decode(chunk);
    if (isFirst && text.startsWith(BYTE_ORDER_MARK)) throw notText(name, encoding);
    isFirst &&= text === '';
    rest += text;
    // A CR at the end may be the first half of CRLF.
    const whole = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const end = Math.max(whole.lastIndexOf('\n'), whole.lastIndexOf('\r')) + 1;
    if (rest.length - end > MAX_LINE_LENGTH) throw lineTooLong(name);
    if (end === 0) continue;
    yield linesOf(rest.slice(0, end));
    rest = rest.slice(end);
  }
  rest += decode();
  if (rest !== '') yield linesOf(rest);
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** @throws Problem `invalid_pack_file` if the file is larger. */
export function requireAtMost(name: string, { bytes }: BagFile, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new Problem('invalid_pack_file', `${name} can have at most ${maxBytes} bytes.`);
}

function notText(name: string, encoding: string, cause?: unknown): Problem {
  return new Problem('invalid_pack_file', `${name} must be ${encoding} without a byte order mark.`, {
    cause,
  });
}

function lineTooLong(name: string): Problem {
  return new Problem('invalid_pack_file', `${name} has a line that is longer than any valid path.`);
}
