import { z } from 'zod';
import { roundPauseSchema } from '../../collection/collection.ts';
import { dataFolderSchema } from '../../node/dataFolder.ts';
import { jobSchema } from '../../node/job.ts';
import {
  createdInvitationSchema,
  invitationSchema,
  newInvitationSchema,
  ownerSessionSchema,
  runTokenSchema,
  sessionChallengeSchema,
  sessionProofSchema,
} from '../../node/owner.ts';
import {
  clockSchema,
  settingsChangeSchema,
  settingsSchema,
  sharingChangeSchema,
  sharingSchema,
  updatesSchema,
} from '../../node/settings.ts';
import { digestSchema } from '../../values/digest.ts';
import { listQuery, namedObject, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY, route } from '../route.ts';

/** Who sends the request, and what they may do. */
const sessionSchema = namedObject('Session', {
  owner: z.boolean(),
  may_contribute: z.boolean(),
  node: z.string(),
  version: z.string(),
  sharing: sharingSchema.shape.mode,
  sample: z.enum(['offered', 'open']).optional().meta({
    description:
      '`open`: this is the sample archive of an app. `offered`, for the owner: the app can open it instead.',
  }),
});
export type Session = z.output<typeof sessionSchema>;

const archiveChangeSchema = namedObject('ArchiveChange', {
  sign_in: z.string().meta({
    description: 'The path that signs one browser in, once, as soon as the other archive is open.',
  }),
});

/** The URLs at which the node can be reached from the network, one per address of the machine. */
const addressesSchema = namedObject('Addresses', {
  addresses: z.array(z.strictObject({ url: z.string(), address: z.string(), interface: z.string() })),
  tls_fingerprint: digestSchema.optional().meta({
    description: 'The SHA-256 of the certificate, if the node serves HTTPS.',
  }),
});
export type Addresses = z.output<typeof addressesSchema>;

/** How much space the archive uses, with the two limits set by the owner. */
const storageSchema = namedObject('Storage', {
  /** Total size of all blobs on this disk. */
  held_bytes: z.int(),
  /** How many objects were given up for good, and their bytes, which are not held; absent if there are none. */
  released_objects: z.int().optional(),
  released_bytes: z.int().optional(),
  /** Whether what was made of released bytes, such as words in the index, is still being overwritten. */
  cleaning: z.boolean().optional(),
  /** `data_cap_gb` in bytes. */
  cap_bytes: z.int(),
  /** Free space on the disk of the data folder. */
  free_bytes: z.int(),
  /** `min_free_disk_gb` in bytes. */
  min_free_bytes: z.int(),
  /** The limit that prevents writes now, or null. */
  no_room: z.enum(['data_cap_reached', 'disk_nearly_full']).nullable(),
});
export type Storage = z.output<typeof storageSchema>;

/** The routes for the owner only, and `readSession`, which reports whether the client is the owner. */
export const manageRoutes = {
  readSession: route({
    method: 'GET',
    path: '/api/session',
    access: 'read',
    tag: 'Node',
    summary: 'Read your own session: whether you are the owner, and what you may do',
    responses: { 200: { description: 'The session', schema: sessionSchema } },
  }),
  createSessionChallenge: route({
    method: 'GET',
    path: '/api/session/challenge',
    access: 'open',
    tag: 'Node',
    summary: 'Get a challenge, which a page of the owner signs with its key',
    responses: { 200: { description: 'The challenge', schema: sessionChallengeSchema } },
  }),
  openSession: route({
    method: 'POST',
    path: '/api/session',
    access: 'open',
    tag: 'Node',
    summary: 'Prove the key of a page that is signed in as the owner, or sign it in',
    description:
      'The key is made by the page and never leaves its browser. The node keeps the public key, and the origin of the page: at another origin the key is refused. Programs send the owner’s token instead.',
    body: jsonBody(sessionProofSchema),
    responses: { 201: { description: 'A token until the node stops', schema: runTokenSchema } },
    problems: ['owner_required', 'sign_in_refused'],
  }),
  readSettings: manageRoute({
    method: 'GET',
    path: '/manage/settings',
    summary: 'Read the settings',
    responses: { 200: { description: 'All settings', schema: settingsSchema } },
  }),
  changeSettings: manageRoute({
    method: 'PATCH',
    path: '/manage/settings',
    summary: 'Change settings',
    body: jsonBody(settingsChangeSchema),
    responses: { 200: { description: 'All settings, after the change', schema: settingsSchema } },
    problems: ['port_taken'],
  }),
  readStorage: manageRoute({
    method: 'GET',
    path: '/manage/storage',
    summary: 'Read how much space the archive uses and how much is left',
    responses: { 200: { description: 'Used and free bytes, with the limits', schema: storageSchema } },
  }),
  readDataFolder: manageRoute({
    method: 'GET',
    path: '/manage/data-folder',
    summary: 'Read in which folder the archive is',
    description: 'The desktop app or “strongroom move” moves it to another folder. The old folder is kept.',
    responses: {
      200: { description: 'The folder, and the one from which it was moved', schema: dataFolderSchema },
    },
  }),
  openSample: manageRoute({
    method: 'POST',
    path: '/manage/sample',
    summary: 'Make the sample archive and open it instead of this one',
    description:
      'Only the desktop app and `npm start` offer it, on their own machine. The sample is in a data folder of its own, so nothing mixes. The node closes once this is answered, and the sample is served at the same address.',
    body: NO_BODY,
    responses: { 200: { description: 'How to sign in there', schema: archiveChangeSchema } },
    problems: ['not_found', 'sample_failed'],
  }),
  removeSample: manageRoute({
    method: 'DELETE',
    path: '/manage/sample',
    summary: 'Remove the sample archive, with all that was added to it, and open the own one again',
    responses: { 200: { description: 'How to sign in there', schema: archiveChangeSchema } },
    problems: ['not_found', 'sample_failed'],
  }),
  removeOldFolder: manageRoute({
    method: 'DELETE',
    path: '/manage/data-folder/old',
    summary: 'Remove the folder from which the archive was moved',
    description: 'If it is gone, it is only forgotten.',
    responses: { 204: { description: 'The old folder is removed' } },
    problems: ['not_found', 'not_the_old_folder'],
  }),
  readSharing: manageRoute({
    method: 'GET',
    path: '/manage/sharing',
    summary: 'Read how the node is shared',
    responses: { 200: { description: 'The sharing mode', schema: sharingSchema } },
  }),
  setSharing: manageRoute({
    method: 'PUT',
    path: '/manage/sharing',
    summary: 'Set how the node is shared',
    body: jsonBody(sharingChangeSchema),
    responses: { 200: { description: 'The sharing mode', schema: sharingSchema } },
    problems: ['port_taken'],
  }),
  readClock: manageRoute({
    method: 'GET',
    path: '/manage/clock',
    summary: 'Read whether the clock jumped ahead, so that nothing is recorded',
    responses: { 200: { description: 'The time of the machine', schema: clockSchema } },
  }),
  confirmClock: manageRoute({
    method: 'POST',
    path: '/manage/clock',
    summary: 'Confirm that a clock that jumped ahead is right',
    description: 'From then on, records get its time. Times in the ledger never go back.',
    body: NO_BODY,
    responses: { 200: { description: 'The time of the machine', schema: clockSchema } },
  }),
  readAddresses: manageRoute({
    method: 'GET',
    path: '/manage/addresses',
    summary: 'List the addresses at which others can reach the node',
    responses: {
      200: { description: 'The addresses; none while the node is not shared', schema: addressesSchema },
    },
  }),
  readUpdates: manageRoute({
    method: 'GET',
    path: '/manage/updates',
    summary: 'Read whether a newer version is known',
    responses: {
      200: { description: 'What the file at `update_url` said when it was last read', schema: updatesSchema },
    },
  }),
  readRoundPause: manageRoute({
    method: 'GET',
    path: '/manage/round-pause',
    summary: 'Read why rounds do not start by themselves',
    responses: {
      200: {
        description: 'The reason, as it was when a round was due; null if there is none',
        schema: roundPauseSchema,
      },
    },
  }),
  readReport: manageRoute({
    method: 'GET',
    path: '/manage/report',
    summary: 'Read a report for those who look for the cause of a problem',
    responses: {
      200: {
        description: 'Versions, settings without names and secrets, and the last 1,000 lines of the log',
        mediaTypes: ['text/plain'],
      },
    },
  }),
  listInvitations: manageRoute({
    method: 'GET',
    path: '/manage/invitations',
    summary: 'List the invitations to contribute',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of invitations, newest first', schema: pageOf(invitationSchema) },
    },
  }),
  createInvitation: manageRoute({
    method: 'POST',
    path: '/manage/invitations',
    summary: 'Create an invitation; its token is shown only in this response',
    body: { ...jsonBody(newInvitationSchema), optional: true as const },
    responses: { 201: { description: 'The invitation and its token', schema: createdInvitationSchema } },
  }),
  readInvitation: manageRoute({
    method: 'GET',
    path: '/manage/invitations/{id}',
    summary: 'Read an invitation',
    responses: { 200: { description: 'The invitation, without its token', schema: invitationSchema } },
    problems: ['not_found'],
  }),
  revokeInvitation: manageRoute({
    method: 'DELETE',
    path: '/manage/invitations/{id}',
    summary: 'Revoke an invitation: its token stops working immediately',
    responses: { 204: { description: 'The invitation is revoked' } },
    problems: ['not_found'],
  }),
  startLedgerVerification: manageRoute({
    method: 'POST',
    path: '/manage/ledger-verifications',
    summary: 'Verify the ledger as a job that reports its progress',
    body: NO_BODY,
    responses: { 202: { description: 'The job', schema: jobSchema } },
  }),
  listJobs: manageRoute({
    method: 'GET',
    path: '/manage/jobs',
    summary: 'List jobs',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of jobs, newest first', schema: pageOf(jobSchema) } },
  }),
  readJob: manageRoute({
    method: 'GET',
    path: '/manage/jobs/{id}',
    summary: 'Read a job',
    responses: { 200: { description: 'The job', schema: jobSchema } },
    problems: ['not_found'],
  }),
  cancelJob: manageRoute({
    method: 'DELETE',
    path: '/manage/jobs/{id}',
    summary: 'Cancel a job',
    responses: { 200: { description: 'The job, cancelled or already ended', schema: jobSchema } },
    problems: ['not_found'],
  }),
  streamManagement: manageRoute({
    method: 'GET',
    path: '/manage/stream',
    summary: 'Stream the progress of jobs, and what was changed',
    responses: {
      200: {
        description:
          'Server-sent events of type `job`, and of type `write` with the name of each route that changed something',
        mediaTypes: ['text/event-stream'],
      },
    },
    problems: ['busy'],
  }),
  createSignInLink: manageRoute({
    method: 'POST',
    path: '/manage/sign-in-links',
    summary: 'Create a link that signs one browser in as the owner, once',
    body: NO_BODY,
    responses: {
      201: {
        description:
          'The link, with the host of this request; also with the public address, if the node has one',
        schema: z
          .strictObject({ url: z.string(), public_url: z.string().optional() })
          .meta({ id: 'SignInLink' }),
      },
    },
  }),
  signOut: manageRoute({
    method: 'DELETE',
    path: '/manage/session',
    summary: 'Sign this browser out',
    responses: { 204: { description: 'The browser is signed out' } },
  }),
  listSessions: manageRoute({
    method: 'GET',
    path: '/manage/sessions',
    summary: 'List the browsers that are signed in as the owner',
    query: z.strictObject(listQuery),
    responses: {
      200: {
        description: 'A page of sessions, most recently used first',
        schema: pageOf(ownerSessionSchema),
      },
    },
  }),
  endSession: manageRoute({
    method: 'DELETE',
    path: '/manage/sessions/{id}',
    summary: 'Sign a browser out, this one or another',
    responses: { 204: { description: 'The browser is signed out' } },
    problems: ['not_found'],
  }),
};

/** The description of the API, for programs and for people. */
export const descriptionRoutes = {
  readOpenapi: route({
    method: 'GET',
    path: '/api/openapi.json',
    access: 'read',
    tag: 'Description',
    summary: 'Read the OpenAPI 3.1 document of this API',
    responses: {
      200: {
        description: 'The document, generated from the schemas that validate requests',
        schema: z.looseObject({
          openapi: z.string(),
          info: z.looseObject({ title: z.string(), version: z.string() }),
          paths: z.record(z.string(), z.unknown()),
        }),
      },
    },
  }),
  readDocs: route({
    method: 'GET',
    path: '/api/docs',
    access: 'read',
    tag: 'Description',
    summary: 'Read the documentation of this API as a web page',
    responses: {
      200: { description: 'A page that loads nothing from other hosts', mediaTypes: ['text/html'] },
    },
  }),
};
