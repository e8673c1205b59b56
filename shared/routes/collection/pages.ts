import { z } from 'zod';
import { collectionResultSchema } from '../../collection/collection.ts';
import {
  HANDED_IN_MEDIA_TYPES,
  handInDetailsSchema,
  handInFieldsSchema,
  handInSchema,
  listedHandInSchema,
} from '../../collection/handedIn.ts';
import {
  archivedDrawSchema,
  drawRequestSchema,
  markedPageSchema,
  missingSchema,
  newPageSchema,
  pageCaptureSchema,
  pageComparisonSchema,
  pageListSchema,
  pagesQuery,
} from '../../collection/page.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY, route, UNREADABLE } from '../route.ts';

const READ_PROBLEMS = ['not_found', ...UNREADABLE, 'blob_damaged', 'copy_unreachable'] as const;
const DRAW_PROBLEMS = ['not_found', 'page_failed', 'busy', 'shutting_down', 'copy_unreachable'] as const;

/** Pages as a browser drew them. */
export const pageRoutes = {
  listPages: route({
    method: 'GET',
    path: '/archive/pages',
    access: 'read',
    tag: 'Pages',
    summary: 'List page captures, newest first',
    query: pagesQuery,
    responses: { 200: { description: 'Page captures, without their requests', schema: pageListSchema } },
  }),
  readPage: route({
    method: 'GET',
    path: '/archive/pages/{id}',
    access: 'read',
    tag: 'Pages',
    summary: 'Read a page capture',
    description:
      'The ledger entry `page.captured` covers the canonical JSON of all members except `ledger_entry`, `withheld` and `released`. The owner can also read a page that was drawn from the archive within the last hour.',
    responses: {
      200: {
        description: 'The page capture, or a page drawn from the archive',
        schema: z.union([markedPageSchema, archivedDrawSchema]),
      },
    },
    problems: ['not_found'],
  }),
  readPagePart: route({
    method: 'GET',
    path: '/archive/pages/{id}/{part}',
    access: 'read',
    tag: 'Pages',
    summary: 'Read the `picture`, the `text`, the `document` or the `thumbnail` of a page capture',
    description:
      'The thumbnail is a small image of the upper part of the picture. It is derived, and not archived.',
    responses: {
      200: { description: 'The bytes', mediaTypes: ['image/png', 'text/plain', 'text/html'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['*/*'] },
      304: { description: 'Not modified' },
    },
    problems: [...READ_PROBLEMS, 'not_derivable', 'derivation_busy'],
  }),
  comparePages: route({
    method: 'GET',
    path: '/archive/pages/{id}/compare/{other}',
    access: 'read',
    tag: 'Pages',
    summary: 'Compare two page captures: their pictures, their texts and their requests',
    responses: { 200: { description: 'What differs', schema: pageComparisonSchema } },
    problems: READ_PROBLEMS,
  }),
  drawPage: route({
    method: 'POST',
    path: '/archive/pages/{id}/draw',
    access: 'owner',
    tag: 'Pages',
    summary: 'Draw a page capture again from the archive alone, and compare',
    body: NO_BODY,
    responses: { 200: { description: 'The page as it was drawn now', schema: archivedDrawSchema } },
    problems: DRAW_PROBLEMS,
  }),
  drawUrl: route({
    method: 'POST',
    path: '/archive/draw',
    access: 'owner',
    tag: 'Pages',
    summary: 'Draw an address as it was at a time, from the archive alone',
    body: jsonBody(drawRequestSchema),
    responses: { 200: { description: 'The page as it was drawn now', schema: archivedDrawSchema } },
    problems: DRAW_PROBLEMS,
  }),
  capturePage: route({
    method: 'POST',
    path: '/manage/pages',
    access: 'owner',
    tag: 'Pages',
    summary: 'Capture one address now, as a person sees it',
    description: 'An address that is not watched is kept as a paused source.',
    body: jsonBody(newPageSchema),
    responses: { 201: { description: 'The page capture', schema: pageCaptureSchema } },
    problems: ['page_failed', 'busy', 'shutting_down'],
  }),
  fetchMissing: route({
    method: 'POST',
    path: '/manage/pages/missing',
    access: 'owner',
    tag: 'Pages',
    summary: 'Fetch addresses that a drawn page asked for and the archive does not hold',
    description: 'Each is kept as a paused source, and fetched now.',
    body: jsonBody(missingSchema),
    responses: { 200: { description: 'What was fetched', schema: collectionResultSchema } },
    problems: ['busy', 'shutting_down'],
  }),
};

/** What a person's own browser showed. */
export const handedInRoutes = {
  handIn: route({
    method: 'POST',
    path: '/manage/handed-in',
    access: 'paired',
    tag: 'Manage',
    summary: 'Hand in what your own browser showed',
    description:
      'Send a saved page (MHTML), an HTML file, a PDF or a picture as the body, with what is said about it as query parameters; or a form with the part `file` and the same names as fields, as SingleFile does. The file is kept byte for byte. The document is a retrieval of `url` by the observer `handed-in:<name>`, and the parts belong to it. It is withheld from visitors for the reason `login` unless `withheld` is false. What is said about it is part of the record, which is public. A form may also have a part `picture`: what was visible. With `quote`, the passage becomes a finding on the event; `case` puts the finding, or else the event, into a case; all of it is one transaction. A paired browser cannot give `withheld=false`, `fetch` and `name`. The same file with the same `url`, `seen_at` and `name` is not recorded twice: the answer is 200 then.',
    query: handInFieldsSchema,
    body: { kind: 'stream', mediaTypes: ['multipart/form-data', ...HANDED_IN_MEDIA_TYPES] },
    responses: {
      200: { description: 'It was handed in before', schema: handInSchema },
      201: { description: 'What was handed in', schema: handInSchema },
    },
    problems: [
      'unsupported_media_type',
      'invalid_multipart',
      'body_too_large',
      'digest_mismatch',
      'invalid_digest_header',
      'invalid_capture',
      'invalid_field',
      'unknown_field',
      'data_cap_reached',
      'disk_nearly_full',
      'storage_failed',
      'archive_read_only',
      'released',
      'unknown_target',
      'case_full',
      'shutting_down',
    ],
  }),
  listHandedIn: manageRoute({
    method: 'GET',
    path: '/manage/handed-in',
    summary: 'List what was handed in, newest first',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'What was handed in, without its parts', schema: pageOf(listedHandInSchema) },
    },
  }),
  readHandedIn: manageRoute({
    method: 'GET',
    path: '/manage/handed-in/{id}',
    summary: 'Read what was handed in, beside what the public got',
    description:
      'The ledger entry `page.handed_in` covers the canonical JSON of all members except `ledger_entry`, `label`, `withheld` and `comparison`.',
    responses: { 200: { description: 'What was handed in', schema: handInDetailsSchema } },
    problems: ['not_found', 'copy_unreachable', 'derivation_busy'],
  }),
};
