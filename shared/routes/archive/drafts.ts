import {
  draftChangeSchema,
  draftFileQuery,
  draftFilesChangeSchema,
  draftSchema,
  draftSummarySchema,
  draftsQuery,
  newDraftSchema,
  publishDraftQuery,
  savedDraftFileSchema,
} from '../../archive/draft.ts';
import { packSchema } from '../../archive/pack.ts';
import { MAX_RECORD_BYTES } from '../../limits.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY } from '../route.ts';

/** Drafts of packs. They are private to the owner and are no part of the ledger, dumps and copies. */
export const draftRoutes = {
  listDrafts: manageRoute({
    method: 'GET',
    path: '/manage/drafts',
    summary: 'List the drafts of packs',
    query: draftsQuery,
    responses: {
      200: {
        description: 'A page of unpublished drafts, last changed first',
        schema: pageOf(draftSummarySchema),
      },
    },
  }),
  createDraft: manageRoute({
    method: 'POST',
    path: '/manage/drafts',
    summary: 'Create a draft',
    description:
      'The record has the fields of a pack’s record, without `files`. Any of them may be missing or invalid until the draft is published. A client may choose the `id`: if there is such a draft already, it is returned unchanged.',
    body: { ...jsonBody(newDraftSchema), maxBytes: MAX_RECORD_BYTES, optional: true as const },
    responses: {
      200: { description: 'The draft that has this id already', schema: draftSchema },
      201: { description: 'The draft', schema: draftSchema },
    },
    problems: ['drafts_full'],
  }),
  readDraft: manageRoute({
    method: 'GET',
    path: '/manage/drafts/{id}',
    summary: 'Read a draft',
    responses: { 200: { description: 'The draft; once published, with its pack', schema: draftSchema } },
    problems: ['not_found'],
  }),
  changeDraft: manageRoute({
    method: 'PATCH',
    path: '/manage/drafts/{id}',
    summary: 'Replace the record of a draft',
    body: { ...jsonBody(draftChangeSchema), maxBytes: MAX_RECORD_BYTES },
    responses: { 200: { description: 'The draft without its record and files', schema: draftSummarySchema } },
    problems: ['not_found', 'draft_changed', 'draft_published'],
  }),
  deleteDraft: manageRoute({
    method: 'DELETE',
    path: '/manage/drafts/{id}',
    summary: 'Delete a draft and its files',
    responses: { 204: { description: 'Deleted' } },
    problems: ['not_found'],
  }),
  putDraftFile: manageRoute({
    method: 'PUT',
    path: '/manage/drafts/{id}/files',
    summary: 'Store a file in a draft',
    description:
      'The body is the file, byte for byte. A file at the same path is replaced. Without `media_type`, the type is derived from the path.',
    query: draftFileQuery,
    headers: { 'Repr-Digest': 'The SHA-256 of the file (RFC 9530). If it differs, nothing is stored.' },
    body: { kind: 'stream' as const, mediaTypes: ['application/octet-stream'] },
    responses: { 200: { description: 'The file', schema: savedDraftFileSchema } },
    problems: [
      'not_found',
      'draft_published',
      'drafts_full',
      'pack_too_large',
      'released',
      'unsupported_media_type',
      'digest_mismatch',
      'invalid_digest_header',
      'data_cap_reached',
      'disk_nearly_full',
    ],
  }),
  changeDraftFiles: manageRoute({
    method: 'PATCH',
    path: '/manage/drafts/{id}/files',
    summary: 'Remove, rename and reuse files of a draft',
    description:
      'All changes are applied together or not at all. A rename never replaces another file. `add` reuses files that the archive has, without sending them.',
    body: { ...jsonBody(draftFilesChangeSchema), maxBytes: MAX_RECORD_BYTES },
    responses: { 200: { description: 'The draft', schema: draftSchema } },
    problems: ['not_found', 'draft_changed', 'draft_published', 'unknown_blob', 'released', 'pack_too_large'],
  }),
  publishDraft: manageRoute({
    method: 'POST',
    path: '/manage/drafts/{id}/publish',
    isLimited: true,
    summary: 'Publish a draft as a pack or a set',
    description:
      'If the files are more than a pack can have, they are published as a set: its parts first, the manifest last; the answer is the manifest. An interrupted publishing goes on when the request is repeated. The record and the files are checked as in an upload. The draft ends in the same transaction that records the pack. A repeated request returns the same pack. With `revision`, the draft is published only if nobody changed its record or its files since that revision was read.',
    query: publishDraftQuery,
    body: NO_BODY,
    responses: {
      200: { description: 'The pack was in the archive already', schema: packSchema },
      201: { description: 'The pack', schema: packSchema },
    },
    problems: [
      'not_found',
      'draft_changed',
      'publishing_cancelled',
      'pack_too_large',
      'terms_not_accepted',
      'digest_mismatch',
      'files_mismatch',
      'unknown_blob',
      'released',
      'unknown_node',
      'unknown_study',
      'unknown_pack',
      'not_canonical',
      'id_taken',
      'invalid_set',
      'blob_damaged',
      'data_cap_reached',
      'disk_nearly_full',
    ],
  }),
};
