/** The address at which an archive replays a capture: `…/20200101000000/http…`, possibly with a modifier such as `if_`. */
const REPLAY = /^(https?:\/\/[^?#]*?\/)(\d{14})(?:[a-z]{2}_)?(\/https?:.*)$/i;

/**
 * Returns the address of the original bytes of a capture. Wayback-style archives rewrite pages for replay unless the
 * address contains `id_`. Addresses of other archives are returned unchanged.
 */
export function rawMementoUrl(uri: string): string {
  return uri.replace(REPLAY, '$1$2id_$3');
}

/** Returns the address of a capture listed in a row of the archive's index at `index`; undefined if it is not an index. */
export function mementoUrlFromIndex(index: string, timestamp: string, original: string): string | undefined {
  const url = URL.parse(index);
  const root = url && /^(.*?)(?:\/timemap\/|\/cdx(?:\/|$))/.exec(url.pathname)?.[1];
  if (!url || root === null || root === undefined) return undefined;
  // The Wayback Machine serves its index at /cdx/ and its captures at /web/.
  const collection = url.pathname.startsWith('/cdx/') ? '/web' : root;
  return `${url.origin}${collection}/${timestamp}id_/${original}`;
}
