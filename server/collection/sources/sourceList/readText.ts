import type { ListedEntry } from './listedEntry.ts';

/** Yields the URLs of a text list, one per line. Lines that begin with `#` are comments. */
export function* readText(text: string): Generator<ListedEntry> {
  let line = 0;
  for (let start = 0; start <= text.length; ) {
    const end = endOfLine(text, start);
    line += 1;
    const url = text.slice(start, end).trim();
    if (url !== '' && !url.startsWith('#')) yield { line, url, fields: {} };
    start = end + (text.startsWith('\r\n', end) ? 2 : 1);
  }
}

function endOfLine(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return at;
  }
  return text.length;
}
