import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { instantSchema } from '../values/text.ts';

/** A timestamp of a checkpoint by an RFC 3161 authority. It covers entries 1 to `size`. */
export const timestampSchema = z
  .strictObject({
    id: z.string(),
    /** The URL of the authority. */
    authority: z.string(),
    /** The time by the authority's clock. */
    at: instantSchema,
    size: z.int().min(0),
    /** The root of the tree over these entries, in hex. */
    root: digestSchema,
    /** The authority's number for it: `0x` and hex digits. */
    serial: z.string(),
  })
  .meta({ id: 'Timestamp' });
export type Timestamp = z.output<typeof timestampSchema>;

/** An authority that gave no valid timestamp, and why. */
const failedAuthoritySchema = z.strictObject({ authority: z.string(), error: z.string() });
export type FailedAuthority = z.output<typeof failedAuthoritySchema>;

/** The result of asking all authorities; at least one of them answered. */
export const stampingSchema = z
  .strictObject({ items: z.array(timestampSchema), failed: z.array(failedAuthoritySchema) })
  .meta({ id: 'Stamping' });
export type Stamping = z.output<typeof stampingSchema>;

/** What the owner sees of an authority in the settings. */
const authorityStateSchema = z
  .strictObject({
    authority: z.string(),
    /** When it was last asked since the node started; null if it was not. */
    attempted_at: instantSchema.nullable(),
    /** Why it returned no timestamp then; null if it returned one. */
    error: z.string().nullable(),
    /** When its last timestamp arrived; null if there is none. */
    stamped_at: instantSchema.nullable(),
    /** How many entries that timestamp covers. */
    size: z.int().min(0),
  })
  .meta({ id: 'AuthorityState' });
export type AuthorityState = z.output<typeof authorityStateSchema>;

export const authoritiesSchema = z
  .strictObject({ authorities: z.array(authorityStateSchema) })
  .meta({ id: 'Authorities' });
