import { z } from 'zod';

const EMPTY = 'This must not be empty.';

/** Text of `min` to `max` characters, counted in Unicode code points as in JSON Schema. */
export function text(min: number, max: number) {
  const rule = min > 0 ? `Enter ${min} to ${max} characters.` : `At most ${max} characters.`;
  return z
    .string()
    .refine(
      (value) => {
        const characters = codePoints(value);
        return characters >= min && characters <= max;
      },
      { error: ({ input }) => (input === '' ? EMPTY : rule) },
    )
    .meta(min > 0 ? { minLength: min, maxLength: max } : { maxLength: max });
}

/** Removes case, accents and extra spaces from a text, for sorting, for exact filters and for searching words. */
export function foldedText(value: string): string {
  return value.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/gu, ' ').trim();
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

/** An instant in RFC 3339 format, in UTC with milliseconds. */
export const instantSchema = z.iso.datetime({ precision: 3 }).meta({
  id: 'Instant',
  description: 'An instant in RFC 3339 format, in UTC with milliseconds',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});

/** An absolute http or https URL. */
export const httpUrlSchema = z
  .string()
  .max(4096, 'At most 4096 characters.')
  .refine(isHttpUrl, 'Enter an absolute http or https URL.')
  .meta({ format: 'uri' });

/** A URL that is published, or is kept with what is: nothing in it may be a secret. */
export const publicUrlSchema = httpUrlSchema.refine((value) => {
  const url = URL.parse(value);
  // An invalid URL gets only the message of `httpUrlSchema`.
  return url === null || (url.username === '' && url.password === '');
}, 'A URL must not contain a user name or password, because it is published.');

/**
 * Whether a URL is written as the WHATWG URL standard writes it, without a fragment. Otherwise what a person reads may name
 * another host than the one that was asked: `https://a.example\\@b.example/` is at `a.example`.
 */
export function isNormalUrl(value: string): boolean {
  return URL.parse(value)?.href === value && !value.includes('#');
}

export function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '';
}
