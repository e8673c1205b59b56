/** The parsed lines of a list of digests such as `SHA256SUMS`. */
export interface ChecksumList {
  entries: ChecksumEntry[];
  /** The numbers of the lines that are not valid. */
  faults: number[];
}

export interface ChecksumEntry {
  /** The path in the list. */
  name: string;
  sha256: string;
}

/** `sha256sum`: digest, space, a space (text) or asterisk (binary), name. Text and binary mode are the same today. */
const GNU_LINE = /^(\\?)([0-9a-f]{64}) [ *](.+)$/is;
/** `sha256sum --tag`, `shasum --tag`, BSD's `sha256` and `openssl dgst`. */
const TAGGED_LINE = /^(\\?)SHA(?:2-)?256 ?\((.+)\) ?= ?([0-9a-f]{64})$/is;

/** The line of hashdeep's header that names the columns, such as `%%%% size,md5,sha256,filename`. */
const HASHDEEP_COLUMNS = /^%%%% (size,[a-z0-9,-]+,filename)$/;

/**
 * Parses a list in the format of GNU coreutils (also a BagIt manifest), BSD, or hashdeep with SHA-256. A leading
 * backslash means that the name is escaped. Empty lines and lines that begin with `#` are ignored.
 */
export function parseChecksums(text: string): ChecksumList {
  const list: ChecksumList = { entries: [], faults: [] };
  let columns: string[] | undefined;
  let number = 0;
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    number += 1;
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('%%%%')) {
      columns = HASHDEEP_COLUMNS.exec(line)?.[1]?.split(',') ?? columns;
      continue;
    }
    const entry = columns ? hashdeepEntry(line, columns) : entryOf(line);
    if (entry) list.entries.push(entry);
    else list.faults.push(number);
  }
  return list;
}

/**
 * The name of a list of digests. A file of any other name is only compared with something else: otherwise one that holds such
 * lines would be called intact if other files are.
 */
export const CHECKSUM_LIST_NAME = /sums?\b|sha256|hashdeep|\.hash$|checksum|digest/i;

/** A larger list is not read. It has about half a million names. */
export const MAX_CHECKSUM_LIST_BYTES = 67_108_864;

/** Returns whether a text is a list of digests: at least half of its lines are entries. */
export function isChecksumList(text: string): boolean {
  const { entries, faults } = parseChecksums(text);
  return entries.length > 0 && faults.length <= entries.length;
}

/** The name is the last column, and may contain commas. */
function hashdeepEntry(line: string, columns: readonly string[]): ChecksumEntry | undefined {
  const cells = line.split(',');
  const sha256 = cells[columns.indexOf('sha256')]?.toLowerCase() ?? '';
  const name = cells.slice(columns.length - 1).join(',');
  return /^[0-9a-f]{64}$/.test(sha256) && name !== '' ? { name, sha256 } : undefined;
}

function entryOf(line: string): ChecksumEntry | undefined {
  const gnu = GNU_LINE.exec(line);
  const [, escaped, sha256, name] = gnu ?? reordered(TAGGED_LINE.exec(line));
  if (sha256 === undefined || name === undefined) return undefined;
  return { name: escaped ? unescaped(name) : name, sha256: sha256.toLowerCase() };
}

function reordered(match: RegExpExecArray | null): (string | undefined)[] {
  return match ? [match[0], match[1], match[3], match[2]] : [];
}

/** Replaces the escapes of coreutils: backslash, line feed, carriage return. */
function unescaped(name: string): string {
  return name.replace(/\\([\\nr])/g, (_whole, letter: string) => ({ n: '\n', r: '\r' })[letter] ?? '\\');
}
