/** An entry of a list before validation. */
export interface ListedEntry {
  line: number;
  url: string;
  /** The other fields of the source. */
  fields: Record<string, unknown>;
  /** Why the entry cannot be read, as a sentence; it is refused then. */
  unreadable?: string;
}

/** The list as a whole cannot be read. The message is a sentence for people. */
export class SourceListError extends Error {
  override name = 'SourceListError';
}

/**
 * Counts the occurrences of a character and the longest distance between two of them, in characters. Stops as soon as
 * the count exceeds `max`.
 */
export function countMarks(text: string, mark: string, max: number): { count: number; longest: number } {
  let [count, longest, start] = [0, 0, 0];
  while (count <= max) {
    const at = text.indexOf(mark, start);
    longest = Math.max(longest, (at === -1 ? text.length : at) - start);
    if (at === -1) break;
    count += 1;
    start = at + 1;
  }
  return { count, longest };
}

/** Returns a function that gives the line of a position, from 1 on. It must be called with growing positions. */
export function lineCounter(text: string): (position: number) => number {
  let [line, counted] = [1, 0];
  return (position) => {
    for (; counted < position; counted += 1) if (text[counted] === '\n') line += 1;
    return line;
  };
}
