import { z } from 'zod';
import { collectionResultSchema, newCollectionSchema } from '../../collection/collection.ts';
import {
  approvedLinksSchema,
  chosenLinksSchema,
  followPreviewSchema,
  foundLinkSchema,
  foundLinksQuery,
} from '../../collection/follow.ts';
import {
  keptProfileSchema,
  MAX_PROFILE_BYTES,
  newProfileSchema,
  profileChangeSchema,
  profileSchema,
  profilesQuery,
} from '../../collection/profile.ts';
import {
  provenRetrievalsQuery,
  provenRetrievalsSchema,
  retrievalProofSchema,
  retrievalSchema,
} from '../../collection/retrieval.ts';
import {
  CAPTURE_MODES,
  followPreviewRequestSchema,
  LIST_MEDIA_TYPES,
  newSourceSchema,
  previewRequestSchema,
  sourceChangeSchema,
  sourceImportSchema,
  sourcePreviewSchema,
  sourcesQuery,
  watchedSourceSchema,
} from '../../collection/source.ts';
import { MEBIBYTE } from '../../limits.ts';
import { listQuery, namedObject, pageOf } from '../../values/list.ts';
import { jobOrResult, jsonBody, manageRoute, route } from '../route.ts';

/** The owner's routes for managing sources and starting collections. */
export const sourceRoutes = {
  listWatchedSources: manageRoute({
    method: 'GET',
    path: '/manage/sources',
    summary: 'List the sources with their settings and last results',
    query: sourcesQuery,
    responses: {
      200: {
        description: 'A page of sources, newest first unless `sort` says otherwise',
        schema: pageOf(watchedSourceSchema),
      },
    },
  }),
  addSource: route({
    method: 'POST',
    path: '/manage/sources',
    access: 'paired',
    tag: 'Manage',
    summary: 'Add a source',
    description: 'A paired browser can only give the address.',
    body: jsonBody(newSourceSchema),
    responses: { 201: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['source_exists'],
  }),
  previewSource: manageRoute({
    method: 'POST',
    path: '/manage/sources/preview',
    summary: 'Fetch a URL once and return what would be stored, without storing it',
    body: jsonBody(previewRequestSchema),
    responses: { 200: { description: 'The result of the fetch', schema: sourcePreviewSchema } },
    problems: ['profile_key_damaged'],
  }),
  importSources: manageRoute({
    method: 'POST',
    path: '/manage/sources/import',
    summary: 'Add the sources of a list',
    description:
      'Accepts text with one URL per line (`#` begins a comment), CSV with a column `url` and optional columns for other fields, OPML, whose outline titles become tags, or bookmarks as browsers export them (Netscape HTML), whose folders become tags. At most 10,000 entries. The result lists the outcome of each entry.',
    query: z.strictObject({
      capture: z.enum(CAPTURE_MODES).optional().meta({ description: 'For entries that do not state it.' }),
    }),
    body: { kind: 'stream', mediaTypes: Object.keys(LIST_MEDIA_TYPES) },
    responses: { 200: { description: 'The outcome of each entry', schema: sourceImportSchema } },
    problems: ['invalid_list'],
  }),
  readWatchedSource: manageRoute({
    method: 'GET',
    path: '/manage/sources/{id}',
    summary: 'Read a source, with its configuration and last result',
    responses: { 200: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['not_found'],
  }),
  listRetrievals: manageRoute({
    method: 'GET',
    path: '/manage/sources/{id}/retrievals',
    summary: 'List every attempt on a source, newest first',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of retrievals, newest first', schema: pageOf(retrievalSchema) },
    },
    problems: ['not_found'],
  }),
  proveRetrievals: route({
    method: 'GET',
    path: '/api/retrievals',
    access: 'read',
    tag: 'Ledger',
    summary: 'List retrievals from an id on, each with the proof that a ledger entry covers it',
    description: 'For another node that mirrors them. `next` is the value of `from` to continue with.',
    query: provenRetrievalsQuery,
    responses: { 200: { description: 'Retrievals and proofs', schema: provenRetrievalsSchema } },
  }),
  proveRetrieval: route({
    method: 'GET',
    path: '/api/retrievals/{id}/proof',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that a ledger entry covers a retrieval, without disclosing other retrievals',
    responses: { 200: { description: 'The retrieval and its audit path', schema: retrievalProofSchema } },
    problems: ['not_found'],
  }),
  changeSource: manageRoute({
    method: 'PATCH',
    path: '/manage/sources/{id}',
    summary: 'Change or pause a source',
    body: jsonBody(sourceChangeSchema),
    responses: { 200: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['not_found'],
  }),
  removeSource: manageRoute({
    method: 'DELETE',
    path: '/manage/sources/{id}',
    summary: 'Stop watching a source; its history stays',
    responses: { 204: { description: 'No longer watched' } },
    problems: ['not_found'],
  }),
  collect: manageRoute({
    method: 'POST',
    path: '/manage/collections',
    summary: 'Start a collection now',
    body: { ...jsonBody(newCollectionSchema), optional: true as const },
    ...jobOrResult(
      'The job that runs the collection',
      'The result of the collection',
      collectionResultSchema,
    ),
    problems: ['unknown_source'],
  }),
};

/** The addresses that followed sources link to. */
export const followRoutes = {
  listFound: manageRoute({
    method: 'GET',
    path: '/manage/found',
    summary: 'List the addresses that followed sources link to or list',
    query: foundLinksQuery,
    responses: {
      200: {
        description: 'A page of addresses, by source, waiting ones first, then newest first',
        schema: pageOf(foundLinkSchema),
      },
    },
  }),
  previewFollow: manageRoute({
    method: 'POST',
    path: '/manage/found/preview',
    summary: 'List what following an address would find, without recording anything',
    description:
      'Of a source, its newest version is read. Any other address is fetched once, and so are the first sitemaps of an index.',
    body: jsonBody(followPreviewRequestSchema),
    responses: { 200: { description: 'What it would find', schema: followPreviewSchema } },
  }),
  approveFound: manageRoute({
    method: 'POST',
    path: '/manage/found/approve',
    summary: 'Watch addresses that wait for approval',
    description:
      'Each becomes a source with the agency, the tags and the schedule of the source in which it was found. What does not wait is left out.',
    body: jsonBody(chosenLinksSchema),
    responses: { 200: { description: 'What was added', schema: approvedLinksSchema } },
  }),
  refuseFound: manageRoute({
    method: 'POST',
    path: '/manage/found/refuse',
    summary: 'Refuse addresses that wait for approval',
    description: 'They are not offered again.',
    body: jsonBody(chosenLinksSchema),
    responses: {
      200: {
        description: 'How many were refused',
        schema: namedObject('RefusedLinks', { refused: z.int() }),
      },
    },
  }),
};

/** JSON escapes what a file contains. */
const MAX_BODY_BYTES = MAX_PROFILE_BYTES + MEBIBYTE;

/** The logins with which sources are watched. */
export const profileRoutes = {
  listProfiles: manageRoute({
    method: 'GET',
    path: '/manage/profiles',
    summary: 'List the profiles with which sources are watched',
    query: profilesQuery,
    responses: { 200: { description: 'A page of profiles, oldest first', schema: pageOf(profileSchema) } },
  }),
  addProfile: manageRoute({
    method: 'POST',
    path: '/manage/profiles',
    summary: 'Keep the cookies and the storage of one site',
    description:
      'Give a Netscape cookie file (`netscape`), a storage state of Playwright (`storage_state`) or a list of `cookies`. Only what belongs to `site` is kept; without `site`, all cookies must belong to one. It is encrypted at rest, sent to this site only, and never shown, exported or logged.',
    body: { ...jsonBody(newProfileSchema), maxBytes: MAX_BODY_BYTES },
    responses: { 201: { description: 'The profile, without its secrets', schema: keptProfileSchema } },
    problems: ['invalid_profile', 'profiles_full', 'profile_key_damaged'],
  }),
  readProfile: manageRoute({
    method: 'GET',
    path: '/manage/profiles/{id}',
    summary: 'Read a profile, without its secrets',
    responses: { 200: { description: 'The profile', schema: profileSchema } },
    problems: ['not_found'],
  }),
  changeProfile: manageRoute({
    method: 'PATCH',
    path: '/manage/profiles/{id}',
    summary: 'Log in again: replace the cookies and the storage of a profile, or its name',
    body: { ...jsonBody(profileChangeSchema), maxBytes: MAX_BODY_BYTES },
    responses: { 200: { description: 'The profile', schema: keptProfileSchema } },
    problems: ['not_found', 'invalid_profile', 'profile_key_damaged'],
  }),
  removeProfile: manageRoute({
    method: 'DELETE',
    path: '/manage/profiles/{id}',
    summary: 'Delete a profile. Sources that name it are not checked until they get another, or none',
    responses: { 204: { description: 'Deleted' } },
    problems: ['not_found'],
  }),
};
