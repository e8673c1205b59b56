import { z } from 'zod';
import { sourceIdSchema } from './digest.ts';

/** The forms in which a list of sources is taken. */
export const LIST_MEDIA_TYPES = {
  'text/plain': 'text',
  'text/csv': 'csv',
  'text/x-opml': 'opml',
  'application/xml': 'opml',
  'text/xml': 'opml',
} as const;
export type ListFormat = (typeof LIST_MEDIA_TYPES)[keyof typeof LIST_MEDIA_TYPES];

export const MAX_LIST_ENTRIES = 10_000;
export const MAX_LIST_BYTES = 8_388_608;

export const LIST_OUTCOMES = ['added', 'already', 'refused'] as const;

/** What became of each entry of a list, in its order. */
export const sourceImportSchema = z
  .strictObject({
    added: z.int(),
    already: z.int(),
    refused: z.int(),
    /** Columns of a CSV that mean nothing here. */
    ignored_columns: z.array(z.string()),
    items: z.array(
      z.strictObject({
        /** The line of the list, counted from 1. */
        line: z.int(),
        url: z.string(),
        outcome: z.enum(LIST_OUTCOMES),
        source: sourceIdSchema.optional(),
        /** Why it was refused: a stable word, and a sentence. */
        code: z.string().optional(),
        detail: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'SourceImport' });
export type SourceImport = z.output<typeof sourceImportSchema>;
