import { z } from 'zod';
import { digestSchema, sourceIdSchema } from '../values/digest.ts';
import { listQuery, searchParameter } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** The tool that made a derived document, and when. */
export const derivedBySchema = z.strictObject({
  tool: z.string(),
  /** The version of this program's rules, then `+` and the library that they use. */
  version: z.string(),
  made_at: instantSchema,
});

export const TEXT_KINDS = ['html', 'pdf', 'json', 'csv', 'xml', 'text'] as const;

/** The readable text of an archived object. The object is evidence; the text is not. */
export const objectTextSchema = z
  .strictObject({
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
  })
  .meta({ id: 'ObjectText' });
export type ObjectText = z.output<typeof objectTextSchema>;

/** A part of a text with the positions of the matches in it (UTF-16 code units, `end` exclusive). */
export const snippetSchema = z.strictObject({
  text: z.string(),
  marks: z.array(z.strictObject({ start: z.int().min(0), end: z.int().min(1) })),
});
export type Snippet = z.output<typeof snippetSchema>;

export const foundTextSchema = z
  .strictObject({
    source: z.strictObject({
      id: sourceIdSchema,
      url: z.string(),
      name: z.string(),
      agency: z.string(),
      tags: z.array(z.string()),
    }),
    sha256: digestSchema,
    /** When this version was observed. */
    observed_at: instantSchema,
    title: z.string().nullable(),
    snippet: snippetSchema,
    derived: derivedBySchema,
  })
  .meta({ id: 'FoundText' });
export type FoundText = z.output<typeof foundTextSchema>;

export const searchQuery = z.strictObject({ ...listQuery, q: searchParameter.optional() });
export type SearchQuery = z.output<typeof searchQuery>;
