/** The delimiters of CSV that are recognised, the usual one first. */
export const DELIMITERS = [',', ';', '\t', '|'] as const;

/** A first line that states the delimiter for spreadsheets. It is not part of the table. */
const STATED = /^\ufeff?"?sep=(.)"?[^\S\r\n]*(?:\r\n?|\n|$)/i;
/** How much of a file shows its delimiter. */
const SEEN_CHARACTERS = 10_000;
const SEEN_LINES = 20;

/** Returns the line `sep=` at the beginning of CSV with its line end, and the delimiter in it. */
export function statedDelimiter(csv: string): { line: string; delimiter: string } | undefined {
  const [line, delimiter] = STATED.exec(csv.slice(0, 20)) ?? [];
  return line === undefined || delimiter === undefined ? undefined : { line, delimiter };
}

/**
 * Returns the delimiter that CSV states, a tab if its media type says so, or the one that is outside of quotes in most
 * successive lines at its beginning: a title or a comment may be before the header, and numbers may have decimal commas. Of
 * several such, it is the one that occurs most often.
 */
export function delimiterOf(csv: string, contentType: string | null): string {
  const stated = statedDelimiter(csv)?.delimiter;
  if (stated !== undefined) return stated;
  if (/^text\/tab-separated-values\b/i.test(contentType ?? '')) return '\t';
  const lines = csv
    .slice(0, SEEN_CHARACTERS)
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]+/)
    .slice(0, SEEN_LINES);
  const counted = DELIMITERS.map((delimiter) => {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    return { delimiter, run: longestRun(counts), all: counts.reduce((sum, count) => sum + count, 0) };
  });
  return counted.reduce((most, other) =>
    other.run > most.run || (other.run === most.run && other.all > most.all) ? other : most,
  ).delimiter;
}

/** Returns how many successive counts are not 0, at most. */
function longestRun(counts: readonly number[]): number {
  let [longest, run] = [0, 0];
  for (const count of counts) {
    run = count > 0 ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}
