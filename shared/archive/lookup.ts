import { z } from 'zod';
import { digestSchema, packIdSchema, sourceIdSchema } from '../values/digest.ts';

/** Digests in one look-up, so that the URL stays within the limits of servers. */
export const MAX_LOOKUP_DIGESTS = 100;

export const lookupQuery = z.strictObject({
  sha256: z
    .string()
    .max(MAX_LOOKUP_DIGESTS * 65)
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(digestSchema).max(MAX_LOOKUP_DIGESTS))
    .meta({ type: 'string', description: `At most ${MAX_LOOKUP_DIGESTS} digests, separated by commas.` }),
});

/** Where the archive has some bytes: the newest pack with them, and the source that first brought them. */
const foundDigestSchema = z.strictObject({
  sha256: digestSchema,
  bytes: z.int(),
  pack: z.strictObject({ id: packIdSchema, path: z.string() }).nullable(),
  source: z.strictObject({ id: sourceIdSchema, url: z.string() }).nullable(),
});
export type FoundDigest = z.output<typeof foundDigestSchema>;

export const lookupSchema = z
  .strictObject({
    /** Only those that the archive has. */
    items: z.array(foundDigestSchema),
  })
  .meta({ id: 'Lookup' });
