import { z } from 'zod';
import { instantSchema, text } from '../values/text.ts';

const invitationIdSchema = z
  .string()
  .regex(/^in_[0-9a-f]{20}$/, 'An invitation id is in_ and 20 hex digits.');

/** The prefix of every invitation token. It distinguishes them from the owner's token. */
export const INVITATION_TOKEN_PREFIX = 'invitation-';

export const newInvitationSchema = z
  .strictObject({
    /** A note for the owner, such as the name of the invited person. Only the owner can see it. */
    name: text(0, 100).default(''),
  })
  .meta({ id: 'NewInvitation' });

export const invitationSchema = z
  .strictObject({
    id: invitationIdSchema,
    name: z.string(),
    created_at: instantSchema,
    last_used_at: instantSchema.nullable(),
    /** The number of writes made with the token. */
    writes: z.int(),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.output<typeof invitationSchema>;

/** A new invitation with its token. The token is never shown again: the node stores only its digest. */
export const createdInvitationSchema = invitationSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedInvitation' });
export type CreatedInvitation = z.output<typeof createdInvitationSchema>;
