import { z } from 'zod';
import { authoritiesSchema, stampingSchema, timestampSchema } from '../../ledger/timestamp.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { NO_BODY, route } from '../route.ts';

/** Timestamps of checkpoints by RFC 3161 authorities. */
export const timestampRoutes = {
  listTimestamps: route({
    method: 'GET',
    path: '/api/ledger/timestamps',
    access: 'read',
    tag: 'Ledger',
    summary: 'List the timestamps of the ledger (RFC 3161)',
    description:
      'An authority signed that a checkpoint existed at a time. So did every entry before it: entries 1 to `size`.',
    query: z.strictObject(listQuery),
    responses: {
      200: {
        description: 'A page of timestamps, those over most entries first',
        schema: pageOf(timestampSchema),
      },
    },
    problems: [],
  }),
  readTimestamp: route({
    method: 'GET',
    path: '/api/ledger/timestamps/{id}',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read a timestamp: the authority’s reply in DER',
    responses: { 200: { description: 'The reply', mediaTypes: ['application/timestamp-reply'] } },
    problems: ['not_found'],
  }),
  readTimestampedText: route({
    method: 'GET',
    path: '/api/ledger/timestamps/{id}/text',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read the bytes that were timestamped: the checkpoint without its signatures',
    responses: { 200: { description: 'The bytes', mediaTypes: ['text/plain'] } },
    problems: ['not_found'],
  }),
  readAuthorities: route({
    method: 'GET',
    path: '/manage/timestamps',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read the state of the timestamp authorities',
    responses: { 200: { description: 'The authorities of the settings', schema: authoritiesSchema } },
    problems: [],
  }),
  requestTimestamps: route({
    method: 'POST',
    path: '/manage/timestamps',
    access: 'owner',
    tag: 'Manage',
    summary: 'Have the ledger timestamped now, by every authority of the settings',
    body: NO_BODY,
    responses: {
      201: { description: 'The new timestamps, and the authorities that gave none', schema: stampingSchema },
    },
    problems: [
      'no_authority',
      'authority_failed',
      'archive_read_only',
      'disk_nearly_full',
      'storage_failed',
      'shutting_down',
    ],
  }),
};
