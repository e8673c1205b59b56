import { z } from 'zod';
import { sourceIdSchema } from '../values/digest.ts';

/** The accepted media types of a list of sources. */
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

/** The result of an import: the outcome of each entry, in the order of the list. */
export const sourceImportSchema = z
  .strictObject({
    added: z.int(),
    already: z.int(),
    refused: z.int(),
    /** The unknown columns of a CSV list. */
    ignored_columns: z.array(z.string()),
    items: z.array(
      z.strictObject({
        /** The line number in the list, from 1. */
        line: z.int(),
        url: z.string(),
        outcome: z.enum(LIST_OUTCOMES),
        source: sourceIdSchema.optional(),
        /** Why it was refused: a stable code and a sentence for people. */
        code: z.string().optional(),
        detail: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'SourceImport' });
export type SourceImport = z.output<typeof sourceImportSchema>;
