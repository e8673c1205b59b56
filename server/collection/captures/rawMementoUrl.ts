/** Where an archive shows a capture: `…/20200101000000/http…`, perhaps with a word of how it is to be shown. */
const SHOWN = /^(https?:\/\/[^?#]*?\/)(\d{14})(?:[a-z]{2}_)?(\/https?:.*)$/i;

/**
 * The address of a capture as it was taken. Archives of the Wayback kind rewrite pages as they show them, unless the
 * address says `id_`; any other gives what it has.
 */
export function rawMementoUrl(uri: string): string {
  return uri.replace(SHOWN, '$1$2id_$3');
}

/** The address of a capture in the archive whose index lies at `index`, from the index's own row. */
export function mementoUrlFromIndex(index: string, timestamp: string, original: string): string | undefined {
  const url = URL.parse(index);
  const root = url && /^(.*?)(?:\/timemap\/|\/cdx(?:\/|$))/.exec(url.pathname)?.[1];
  if (!url || root === null || root === undefined) return undefined;
  // The Wayback Machine's index lies beside what it is the index of.
  const collection = url.pathname.startsWith('/cdx/') ? '/web' : root;
  return `${url.origin}${collection}/${timestamp}id_/${original}`;
}
