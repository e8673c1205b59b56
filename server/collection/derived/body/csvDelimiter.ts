const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Returns the delimiter that occurs most often in the first line, outside quotes; a tab if the media type says so. */
export function delimiterOf(csv: string, contentType: string | null): string {
  if (/^text\/tab-separated-values\b/i.test(contentType ?? '')) return '\t';
  const first = csv
    .slice(0, 10_000)
    .split(/\r?\n/, 1)
    .join('')
    .replace(/"[^"]*"/g, '');
  const counted = DELIMITERS.map((delimiter) => ({ delimiter, count: first.split(delimiter).length - 1 }));
  return counted.reduce((most, other) => (other.count > most.count ? other : most)).delimiter;
}
