import { z } from 'zod';
import { instantSchema } from '../values/text.ts';

/** A browser is signed out if its session was not used for this many days. */
export const SESSION_DAYS = 30;

const sessionIdSchema = z.string().regex(/^se_[0-9a-f]{20}$/, 'A session id is se_ and 20 hex digits.');

export const ownerSessionSchema = z
  .strictObject({
    id: sessionIdSchema,
    created_at: instantSchema,
    /** Updated at most once an hour. */
    last_used_at: instantSchema,
    /** A short description of the browser; empty if unknown. */
    label: z.string(),
    /** Whether this session sent the request. */
    current: z.boolean(),
  })
  .meta({ id: 'OwnerSession' });
export type OwnerSession = z.output<typeof ownerSessionSchema>;
