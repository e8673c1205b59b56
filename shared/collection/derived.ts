import { z } from 'zod';
import { digestSchema, packIdSchema, sourceIdSchema } from '../values/digest.ts';
import { booleanParameter, listQuery, namedObject, searchParameter } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { namedSourceSchema } from './event.ts';

/** The tool that made a derived document, and when. */
const derivedBySchema = z.strictObject({
  tool: z.string(),
  /** The version of this program's rules, then `+` and the library that they use. */
  version: z.string(),
  made_at: instantSchema,
});

const TEXT_KINDS = ['html', 'pdf', 'json', 'csv', 'xml', 'text'] as const;

/** The readable text of an archived object. The object is evidence; the text is not. */
export const objectTextSchema = namedObject('ObjectText', {
  sha256: digestSchema,
  kind: z.enum(TEXT_KINDS),
  title: z.string().nullable(),
  /** Pages of a PDF are separated by form feeds (U+000C). */
  text: z.string(),
  /** As written in the document, not resolved. */
  links: z.array(z.strictObject({ text: z.string(), href: z.string() })),
  /** The number of pages of a PDF. */
  pages: z.int().nullable(),
  /** Whether something was left out because of its length or depth. */
  truncated: z.boolean(),
  /** The digests of the objects that the text was made from. */
  objects: z.array(digestSchema),
  derived: derivedBySchema,
});
export type ObjectText = z.output<typeof objectTextSchema>;

/** A part of a text with the positions of the matches in it (UTF-16 code units, `end` exclusive). */
const snippetSchema = z.strictObject({
  text: z.string(),
  marks: z.array(z.strictObject({ start: z.int().min(0), end: z.int().min(1) })),
});
export type Snippet = z.output<typeof snippetSchema>;

export const foundTextSchema = namedObject('FoundText', {
  /** Null for a file of a pack. */
  source: namedSourceSchema.nullable(),
  /** The newest pack with this file; null for a version of a source. */
  pack: z
    .strictObject({
      id: packIdSchema,
      title: z.string(),
      path: z.string(),
      others: z.int().min(0).meta({ description: 'Other places in packs at which the same file is.' }),
    })
    .nullable(),
  sha256: digestSchema,
  /** When this version was observed, or the pack received. */
  observed_at: instantSchema,
  observer: z.string().nullable().meta({ description: 'Who observed the version; null for packs.' }),
  original_observed_at: instantSchema.nullable(),
  is_current: z.boolean().meta({
    description: 'Whether this is the source’s current version. False if it was replaced. True for packs.',
  }),
  other_versions: z.int().min(0).meta({
    description: 'Other versions of the same source that match. Listed one by one with `source`.',
  }),
  title: z.string().nullable(),
  snippet: snippetSchema,
  derived: derivedBySchema,
  withheld: z.literal(true).optional().meta({
    description: 'Whether the bytes are withheld from visitors. Only the owner finds such texts.',
  }),
});
export type FoundText = z.output<typeof foundTextSchema>;

export const searchQuery = z.strictObject({
  ...listQuery,
  q: searchParameter.optional(),
  in: z.enum(['sources', 'packs']).optional(),
  source: sourceIdSchema.optional(),
  parts: booleanParameter
    .optional()
    .meta({ description: 'Whether files are found that only packs have which are parts of sets' }),
});
export type SearchQuery = z.output<typeof searchQuery>;

/** Makes whitespace visible if it is the whole change. */
export function visibleText(text: string): string {
  if (/\S/.test(text)) return text;
  return text.replaceAll(' ', '·').replaceAll('\t', '⇥').replaceAll('\n', '↵\n');
}

/** Letters of scripts that separate words by spaces. In other scripts, such as Han, each letter is a token. */
const LETTERS = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Hangul']
  .map((script) => `\\p{Script=${script}}`)
  .join('');
const WORD = `[${LETTERS}\\p{M}\\p{Nd}_\\u00ad]`;
const DIGITS = '\\p{Nd}+(?:[.,:]\\p{Nd}+)*';
const SIGNED = `(?<!${WORD})[-+\u2212]${DIGITS}(?!${WORD})`;
const TOKEN = new RegExp(`${SIGNED}|${DIGITS}(?!${WORD})|${WORD}+|\\r?\\n|[^\\S\\r\\n]+|[^]`, 'gu');

/**
 * Splits a text for a comparison by words: words, numbers with their sign and separators, runs of white space, and other
 * characters one by one. A price of 4.10 that becomes 4.35 is one change, not a change of its cents.
 */
export function wordTokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}
