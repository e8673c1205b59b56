/** A list of digests such as `SHA256SUMS`. */
export interface ChecksumList {
  entries: ChecksumEntry[];
  /** Numbers of lines that are no entry. */
  faults: number[];
}

export interface ChecksumEntry {
  /** The path as the list has it. */
  name: string;
  sha256: string;
}

/** `sha256sum`: digest, a space, a space or an asterisk (text or binary, which differ nowhere today), name. */
const GNU_LINE = /^(\\?)([0-9a-f]{64}) [ *](.+)$/is;
/** `sha256sum --tag`, `shasum --tag`, BSD's `sha256` and `openssl dgst`. */
const TAGGED_LINE = /^(\\?)SHA(?:2-)?256 ?\((.+)\) ?= ?([0-9a-f]{64})$/is;

/**
 * Reads a list in the format of GNU coreutils or of BSD. A backslash before the line says that the name is escaped;
 * empty lines and lines that begin with `#` say nothing.
 */
export function parseChecksums(text: string): ChecksumList {
  const list: ChecksumList = { entries: [], faults: [] };
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const entry = entryOf(line);
    if (entry) list.entries.push(entry);
    else list.faults.push(index + 1);
  }
  return list;
}

/** Whether a text is a list of digests, by what it says and not by its name. */
export function isChecksumList(text: string): boolean {
  const { entries, faults } = parseChecksums(text);
  return entries.length > 0 && faults.length <= entries.length;
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

/** The escapes of coreutils: a backslash, a line feed, a carriage return. */
function unescaped(name: string): string {
  return name.replace(/\\([\\nr])/g, (_whole, letter: string) => ({ n: '\n', r: '\r' })[letter] ?? '\\');
}
