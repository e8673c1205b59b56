import { z } from 'zod';
import { instantSchema, text } from './text.ts';

export const invitationIdSchema = z
  .string()
  .regex(/^in_[0-9a-f]{20}$/, 'An invitation id is in_ and 20 hex digits.');

/** What every invitation's token begins with, so that it is never taken for the owner's. */
export const INVITATION_TOKEN_PREFIX = 'invitation-';

export const newInvitationSchema = z
  .strictObject({
    /** For whom it is; only the owner sees it. */
    name: text(0, 100).default(''),
  })
  .meta({ id: 'NewInvitation' });

export const invitationSchema = z
  .strictObject({
    id: invitationIdSchema,
    name: z.string(),
    created_at: instantSchema,
    last_used_at: instantSchema.nullable(),
    /** How many writes were made with it. */
    writes: z.int(),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.output<typeof invitationSchema>;

/** The token is told here and never again: the node keeps only its digest. */
export const createdInvitationSchema = invitationSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedInvitation' });
export type CreatedInvitation = z.output<typeof createdInvitationSchema>;
