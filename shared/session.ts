import { z } from 'zod';
import { instantSchema } from './text.ts';

/** A browser that is signed in as the owner is signed out when it was not used for so many days. */
export const SESSION_DAYS = 30;

export const sessionIdSchema = z
  .string()
  .regex(/^se_[0-9a-f]{20}$/, 'A session id is se_ and 20 hex digits.');

export const ownerSessionSchema = z
  .strictObject({
    id: sessionIdSchema,
    created_at: instantSchema,
    /** Noted once an hour at the most. */
    last_used_at: instantSchema,
    /** The browser in a few words; empty where it is not known. */
    label: z.string(),
    /** Whether it is the session that asks. */
    current: z.boolean(),
  })
  .meta({ id: 'OwnerSession' });
export type OwnerSession = z.output<typeof ownerSessionSchema>;
