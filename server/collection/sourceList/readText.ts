import type { ListedEntry } from './listedEntry.ts';

/** An address a line; a line that begins with `#` is a comment. */
export function readText(text: string): { entries: ListedEntry[] } {
  const entries = text
    .split(/\r\n|\r|\n/)
    .map((line, index) => ({ line: index + 1, url: line.trim(), said: {} }))
    .filter(({ url }) => url !== '' && !url.startsWith('#'));
  return { entries };
}
