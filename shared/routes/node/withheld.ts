import { z } from 'zod';
import {
  newReleaseSchema,
  newWithholdingSchema,
  releasePreviewSchema,
  releaseSchema,
  showingSchema,
  shownSchema,
  withheldObjectSchema,
  withheldObjectsQuery,
  withheldStateQuery,
  withheldStateSchema,
  withholdingSchema,
} from '../../node/withheld.ts';
import { digestSchema } from '../../values/digest.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, route } from '../route.ts';

const WRITE_PROBLEMS = ['archive_read_only', 'disk_nearly_full', 'storage_failed', 'shutting_down'] as const;

/** What visitors may not read, and what was given up. The records are public, as all records are. */
export const withheldRoutes = {
  listWithheld: route({
    method: 'GET',
    path: '/api/withheld',
    access: 'read',
    tag: 'Objects',
    summary: 'List what is withheld from visitors, and why',
    query: z.strictObject(listQuery),
    responses: {
      200: {
        description: 'A page of the withholdings in force, newest first',
        schema: pageOf(withholdingSchema),
      },
    },
  }),
  listReleased: route({
    method: 'GET',
    path: '/api/released',
    access: 'read',
    tag: 'Objects',
    summary: 'List the bytes that were given up, and why',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of releases, newest first', schema: pageOf(releaseSchema) } },
  }),
  readWithheldState: route({
    method: 'GET',
    path: '/api/withheld/state',
    access: 'read',
    tag: 'Objects',
    summary: 'Tell whether something is withheld or was given up',
    description:
      'Of a digest, a retrieval, a pack or a page capture: what withholds it, also as part of something else. What this archive does not know is not withheld.',
    query: withheldStateQuery,
    responses: { 200: { description: 'What withholds it', schema: withheldStateSchema } },
  }),
  listWithheldObjects: route({
    method: 'GET',
    path: '/api/withheld/objects',
    access: 'read',
    tag: 'Objects',
    summary: 'List the digests that a withholding covers',
    query: withheldObjectsQuery,
    responses: { 200: { description: 'A page of digests', schema: pageOf(withheldObjectSchema) } },
  }),
  withhold: manageRoute({
    method: 'POST',
    path: '/manage/withheld',
    summary: 'Withhold bytes from visitors',
    description:
      'Visitors get `withheld` (451) for the bytes and for everything made of them. Records, digests, events and proofs stay public, with the reason and the note. If the same is withheld for the same reason already, and with the same note if one is given, nothing changes and the answer is 200.',
    body: jsonBody(newWithholdingSchema),
    responses: {
      200: { description: 'The withholding that is in force already', schema: withholdingSchema },
      201: { description: 'The new withholding', schema: withholdingSchema },
    },
    problems: ['unknown_target', 'released', ...WRITE_PROBLEMS],
  }),
  show: manageRoute({
    method: 'DELETE',
    path: '/manage/withheld',
    summary: 'Show withheld bytes to visitors again',
    description: 'What another withholding covers, too, stays withheld.',
    body: jsonBody(showingSchema),
    responses: { 200: { description: 'The end of the withholding', schema: shownSchema } },
    problems: ['not_found', ...WRITE_PROBLEMS],
  }),
  previewRelease: manageRoute({
    method: 'GET',
    path: '/manage/released/preview',
    summary: 'Show what giving up bytes would take away',
    description:
      'Names what uses the bytes and what holds them: the first 100 of each kind, and how many there are.',
    query: z.strictObject({ sha256: digestSchema }),
    responses: { 200: { description: 'What uses the bytes', schema: releasePreviewSchema } },
    problems: ['not_found'],
  }),
  release: manageRoute({
    method: 'POST',
    path: '/manage/released',
    summary: 'Give up bytes for good',
    description:
      'The bytes are removed from the disk, the cache, the texts, the index and the copies. The record and the digest stay. Nothing brings the bytes back. If they were given up already, the answer is 200.',
    body: jsonBody(newReleaseSchema),
    responses: {
      200: { description: 'The release that was recorded already', schema: releaseSchema },
      201: { description: 'The release', schema: releaseSchema },
    },
    problems: ['unknown_target', ...WRITE_PROBLEMS],
  }),
};
