/**
 * Returns the content codings of a response in the order in which they were applied (RFC 9110, section 8.4), for example
 * `gzip`, or null if its body is not encoded.
 */
export function contentEncodingOf(headers: readonly (readonly [string, string])[]): string | null {
  const codings = headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  return codings.length > 0 ? codings.join(', ') : null;
}
