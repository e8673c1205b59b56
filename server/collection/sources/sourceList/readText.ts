import type { ListedEntry } from './listedEntry.ts';

const ADDRESS = /^https?:\/\//i;

/**
 * Yields the URLs of a text list. Lines that begin with `#` are comments. Several URLs on one line, with spaces between them, are
 * as many entries. A URL beside other words is refused: what the words mean is not known, and a space is no part of a URL.
 */
export function* readText(text: string): Generator<ListedEntry> {
  let line = 0;
  for (let start = 0; start <= text.length; ) {
    const end = endOfLine(text, start);
    line += 1;
    const written = text.slice(start, end).trim();
    if (written !== '' && !written.startsWith('#')) yield* entriesOf(written, line);
    start = end + (text.startsWith('\r\n', end) ? 2 : 1);
  }
}

function* entriesOf(written: string, line: number): Generator<ListedEntry> {
  const words = written.split(/\s+/);
  if (words.length === 1 || !words.some((word) => ADDRESS.test(word))) {
    yield { line, url: written, fields: {} };
    return;
  }
  // Of a list with commas, only the last entry has none.
  const urls = words.map((word, index) => (index < words.length - 1 ? word.replace(/[,;]$/, '') : word));
  if (urls.every((word) => ADDRESS.test(word))) for (const url of urls) yield { line, url, fields: {} };
  else
    yield {
      line,
      url: written,
      fields: {},
      unreadable:
        'The line has words besides the URL. Put a URL on a line of its own, and write a space in it as %20.',
    };
}

function endOfLine(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return at;
  }
  return text.length;
}
