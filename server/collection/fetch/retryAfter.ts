/**
 * Parses Retry-After (RFC 9110, section 10.2.3): seconds or a date. Returns milliseconds since the epoch, or undefined
 * if the value is invalid.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return now + Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : date;
}
