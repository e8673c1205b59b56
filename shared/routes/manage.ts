import { z } from 'zod';
import { createdInvitationSchema, invitationSchema, newInvitationSchema } from '../invitation.ts';
import { jobSchema } from '../job.ts';
import { listQuery, pageOf } from '../list.ts';
import { ownerSessionSchema } from '../session.ts';
import { settingsChangeSchema, settingsSchema, sharingSchema } from '../settings.ts';
import { jsonBody, NO_BODY, route } from './route.ts';

/** What a page needs to know about who is looking, before it offers anything. */
export const sessionSchema = z
  .strictObject({
    owner: z.boolean(),
    may_contribute: z.boolean(),
    node: z.string(),
    version: z.string(),
    sharing: sharingSchema.shape.mode,
  })
  .meta({ id: 'Session' });
export type Session = z.output<typeof sessionSchema>;

/** Where the network reaches the node now, an address for each interface. */
export const addressesSchema = z
  .strictObject({
    addresses: z.array(z.strictObject({ url: z.string(), address: z.string(), interface: z.string() })),
  })
  .meta({ id: 'Addresses' });
export type Addresses = z.output<typeof addressesSchema>;

/** How much the archive holds, against the owner's two limits of room. */
export const storageSchema = z
  .strictObject({
    /** Bytes of blobs, against `data_cap_gb`. */
    held_bytes: z.int(),
    cap_bytes: z.int(),
    /** On the data folder's disk, against `min_free_disk_gb`. */
    free_bytes: z.int(),
    min_free_bytes: z.int(),
    /** Why nothing more is stored, or null. */
    no_room: z.enum(['data_cap_reached', 'disk_nearly_full']).nullable(),
  })
  .meta({ id: 'Storage' });
export type Storage = z.output<typeof storageSchema>;

/** What the owner alone may do, and what a page asks to know whether its reader is the owner. */
export const manageRoutes = {
  readSession: route({
    method: 'GET',
    path: '/api/session',
    access: 'read',
    tag: 'Node',
    summary: 'Who is asking, and what they may do',
    answers: { 200: { description: 'The session', schema: sessionSchema } },
    problems: [],
  }),
  readSettings: route({
    method: 'GET',
    path: '/manage/settings',
    access: 'owner',
    tag: 'Manage',
    summary: 'The settings',
    answers: { 200: { description: 'All of them', schema: settingsSchema } },
    problems: [],
  }),
  changeSettings: route({
    method: 'PATCH',
    path: '/manage/settings',
    access: 'owner',
    tag: 'Manage',
    summary: 'Change settings',
    body: jsonBody(settingsChangeSchema),
    answers: { 200: { description: 'All of them', schema: settingsSchema } },
    problems: [],
  }),
  readStorage: route({
    method: 'GET',
    path: '/manage/storage',
    access: 'owner',
    tag: 'Manage',
    summary: 'How much the archive holds and how much room is left',
    answers: { 200: { description: 'Bytes, against the limits', schema: storageSchema } },
    problems: [],
  }),
  readSharing: route({
    method: 'GET',
    path: '/manage/sharing',
    access: 'owner',
    tag: 'Manage',
    summary: 'Who may reach the node',
    answers: { 200: { description: 'The sharing', schema: sharingSchema } },
    problems: [],
  }),
  setSharing: route({
    method: 'PUT',
    path: '/manage/sharing',
    access: 'owner',
    tag: 'Manage',
    summary: 'Set who may reach the node',
    body: jsonBody(sharingSchema),
    answers: { 200: { description: 'The sharing', schema: sharingSchema } },
    problems: ['port_taken'],
  }),
  readAddresses: route({
    method: 'GET',
    path: '/manage/addresses',
    access: 'owner',
    tag: 'Manage',
    summary: 'Where others on the network reach the node; nowhere while it is not shared',
    answers: { 200: { description: 'The addresses', schema: addressesSchema } },
    problems: [],
  }),
  listInvitations: route({
    method: 'GET',
    path: '/manage/invitations',
    access: 'owner',
    tag: 'Manage',
    summary: 'Who was invited to contribute, newest first',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of invitations', schema: pageOf(invitationSchema) } },
    problems: [],
  }),
  createInvitation: route({
    method: 'POST',
    path: '/manage/invitations',
    access: 'owner',
    tag: 'Manage',
    summary: 'Invite somebody to contribute; the token is told once',
    body: { ...jsonBody(newInvitationSchema), optional: true as const },
    answers: { 201: { description: 'The invitation and its token', schema: createdInvitationSchema } },
    problems: [],
  }),
  readInvitation: route({
    method: 'GET',
    path: '/manage/invitations/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read an invitation',
    answers: { 200: { description: 'The invitation, without its token', schema: invitationSchema } },
    problems: ['not_found'],
  }),
  revokeInvitation: route({
    method: 'DELETE',
    path: '/manage/invitations/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Revoke an invitation: its token is worth nothing from then on',
    answers: { 204: { description: 'Revoked' } },
    problems: ['not_found'],
  }),
  startLedgerVerification: route({
    method: 'POST',
    path: '/manage/ledger-verifications',
    access: 'owner',
    tag: 'Manage',
    summary: 'Verify the ledger as a job that tells its progress',
    body: NO_BODY,
    answers: { 202: { description: 'The job', schema: jobSchema } },
    problems: [],
  }),
  listJobs: route({
    method: 'GET',
    path: '/manage/jobs',
    access: 'owner',
    tag: 'Manage',
    summary: 'Long work, newest first',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of jobs', schema: pageOf(jobSchema) } },
    problems: [],
  }),
  readJob: route({
    method: 'GET',
    path: '/manage/jobs/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read a job',
    answers: { 200: { description: 'The job', schema: jobSchema } },
    problems: ['not_found'],
  }),
  cancelJob: route({
    method: 'DELETE',
    path: '/manage/jobs/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Cancel a job',
    answers: { 200: { description: 'The job, cancelled or ended before', schema: jobSchema } },
    problems: ['not_found'],
  }),
  streamManagement: route({
    method: 'GET',
    path: '/manage/stream',
    access: 'owner',
    tag: 'Manage',
    summary: 'Progress of jobs as it happens',
    answers: { 200: { description: 'Server-sent events named job', mediaTypes: ['text/event-stream'] } },
    problems: [],
  }),
  createSignInLink: route({
    method: 'POST',
    path: '/manage/sign-in-links',
    access: 'owner',
    tag: 'Manage',
    summary: 'Make a link that signs one browser in as the owner, once',
    body: NO_BODY,
    answers: {
      201: {
        description:
          'The link, under the name by which it was asked for, and where the node has one, the same under its public address',
        schema: z
          .strictObject({ url: z.string(), public_url: z.string().optional() })
          .meta({ id: 'SignInLink' }),
      },
    },
    problems: [],
  }),
  signOut: route({
    method: 'DELETE',
    path: '/manage/session',
    access: 'owner',
    tag: 'Manage',
    summary: 'Sign this browser out',
    answers: { 204: { description: 'Signed out' } },
    problems: [],
  }),
  listSessions: route({
    method: 'GET',
    path: '/manage/sessions',
    access: 'owner',
    tag: 'Manage',
    summary: 'The browsers that are signed in as the owner, the last used first',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of sessions', schema: pageOf(ownerSessionSchema) } },
    problems: [],
  }),
  endSession: route({
    method: 'DELETE',
    path: '/manage/sessions/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Sign a browser out, this one or another',
    answers: { 204: { description: 'Signed out' } },
    problems: ['not_found'],
  }),
};
