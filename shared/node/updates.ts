import { z } from 'zod';
import { httpUrlSchema, instantSchema } from '../values/text.ts';

/** A released version: three numbers. */
export const versionSchema = z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/, 'A version is three numbers.');

/** The file that the setting `update_url` names. Other members are ignored. */
export const releaseFileSchema = z.object({
  version: versionSchema,
  url: httpUrlSchema.max(1_000).optional(),
});

export const updatesSchema = z
  .strictObject({
    /** The version of this node. */
    version: z.string(),
    /** The newest version that the file named; null if it was not read. */
    newest: versionSchema.nullable(),
    /** Whether that version is newer than this one. */
    is_newer: z.boolean(),
    /** Where to get it, as the file says. */
    url: z.string().nullable(),
    /** null if the setting `update_url` is empty, or the file was not asked for yet. */
    checked_at: instantSchema.nullable(),
    /** Why the file could not be read, as a sentence. */
    error: z.string().nullable(),
  })
  .meta({ id: 'Updates' });
export type Updates = z.output<typeof updatesSchema>;
