/*
 * Records are public, also those of bytes that are withheld. A site may write anything into its headers, such as the name of
 * an account or of a file. Of what visitors do not get, and of what was got with something secret, only headers are kept
 * that say how the bytes are to be read, by scripts of which site, where a redirect leads and how fresh the answer is.
 */

const PUBLIC_HEADERS: ReadonlySet<string> = new Set([
  'accept-ranges',
  'access-control-allow-credentials',
  'access-control-allow-origin',
  'age',
  'cache-control',
  'connection',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'location',
  'pragma',
  'retry-after',
  'transfer-encoding',
  'vary',
]);

/** Headers of requests whose values the node or the browser writes, not the page. */
const PUBLIC_SENT_HEADERS =
  /^(accept|accept-encoding|accept-language|cache-control|connection|content-length|host|if-modified-since|if-none-match|origin|pragma|priority|range|referer|sec-.*|te|upgrade-insecure-requests|user-agent)$/i;

/** Whether the value of a header that was sent says nothing that belongs to the login. */
export function isPublicSentHeader(name: string): boolean {
  return PUBLIC_SENT_HEADERS.test(name);
}

/** Returns the headers of an answer that may be public, in their order, with nothing in the media type but its charset. */
export function publicHeaders(headers: readonly (readonly [string, string])[]): [string, string][] {
  return headers.flatMap(([name, value]): [string, string][] => {
    const known = name.toLowerCase();
    if (!PUBLIC_HEADERS.has(known)) return [];
    const kept = known === 'content-type' ? publicMediaType(value) : value;
    return kept === null ? [] : [[name, kept]];
  });
}

const MEDIA_TYPE = /^\s*([\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127})(?=[\s;,]|$)/;
const PARAMETER = /[;\s]\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))/g;

/**
 * Returns a media type with no parameter but the name of a known encoding: others may hold the name of a file. Returns null
 * if it is none.
 */
export function publicMediaType(given: string | null): string | null {
  const type = MEDIA_TYPE.exec(given ?? '')?.[1];
  if (given === null || type === undefined) return null;
  for (const [, name, quoted, plain] of given.matchAll(PARAMETER))
    if (name?.toLowerCase() === 'charset') {
      const charset = (quoted ?? plain ?? '').replace(/^[\s']+|[\s']+$/g, '');
      return isEncoding(charset) ? `${type}; charset=${charset}` : type;
    }
  return type;
}

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
