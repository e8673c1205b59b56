import { z } from 'zod';
import {
  HANDED_IN_MEDIA_TYPES,
  handInDetailsSchema,
  handInFieldsSchema,
  handInSchema,
  listedHandInSchema,
} from '../../collection/handedIn.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { route } from '../route.ts';

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
      'unknown_target',
      'case_full',
      'shutting_down',
    ],
  }),
  listHandedIn: route({
    method: 'GET',
    path: '/manage/handed-in',
    access: 'owner',
    tag: 'Manage',
    summary: 'List what was handed in, newest first',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'What was handed in, without its parts', schema: pageOf(listedHandInSchema) },
    },
    problems: [],
  }),
  readHandedIn: route({
    method: 'GET',
    path: '/manage/handed-in/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read what was handed in, beside what the public got',
    description:
      'The ledger entry `page.handed_in` covers the canonical JSON of all members except `ledger_entry`, `label`, `withheld` and `comparison`.',
    responses: { 200: { description: 'What was handed in', schema: handInDetailsSchema } },
    problems: ['not_found', 'copy_unreachable', 'derivation_busy'],
  }),
};
