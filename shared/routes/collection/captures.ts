import { z } from 'zod';
import {
  captureResultSchema,
  mementoImportSchema,
  observerSchema,
  timeMapSchema,
  waczQuery,
  warcQuery,
} from '../../collection/captures.ts';
import { jobSchema } from '../../node/job.ts';
import { booleanParameter } from '../../values/list.ts';
import { manageRoute, route, UNREADABLE } from '../route.ts';

/** Media types of a WARC file. Whether the file is compressed is detected from its first bytes. */
export const WARC_MEDIA_TYPES = [
  'application/warc',
  'application/warc+gzip',
  'application/gzip',
  'application/x-gzip',
] as const;

/** Media types of a WACZ package, which is recognised by its first bytes. */
export const WACZ_MEDIA_TYPES = ['application/wacz', 'application/zip'] as const;

export const captureRoutes = {
  importCaptures: manageRoute({
    method: 'POST',
    path: '/manage/captures',
    summary: 'Import captures made by a third party',
    description:
      'Send a WARC file, a WACZ package (1.0 to 1.2), or the address of a TimeMap of an archive that supports Memento (RFC 7089). Each capture is recorded as a retrieval by `observer`: `observed_at` is the time of the import, `original_observed_at` the time of the capture. The response is sent when the import has ended; with `wait=false` it is sent immediately and contains the job.',
    query: z.strictObject({ observer: observerSchema, wait: booleanParameter.optional() }),
    body: {
      kind: 'stream' as const,
      mediaTypes: [...WARC_MEDIA_TYPES, ...WACZ_MEDIA_TYPES, 'application/json'],
      json: mementoImportSchema,
    },
    responses: {
      200: { description: 'The result of the import', schema: captureResultSchema },
      202: { description: 'The job that runs the import', schema: jobSchema },
    },
    problems: [
      'unsupported_media_type',
      'body_too_large',
      'digest_mismatch',
      'invalid_digest_header',
      'invalid_capture',
      'data_cap_reached',
      'disk_nearly_full',
      'shutting_down',
    ],
  }),
};

const ABOUT_ADDRESSES =
  'Append the watched URL unencoded, including its query; it is normalized like the URL of a source. Every observation is a memento. Its datetime is the time of the observation, or of the capture if a third party made it.';

/** The observations of a source, in the Memento protocol (RFC 7089). */
export const mementoRoutes = {
  readTimeMapJson: route({
    method: 'GET',
    path: '/timemap/json/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'List the mementos of a URL, as JSON',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', schema: timeMapSchema } },
    problems: ['not_found'],
  }),
  readTimeMapLinks: route({
    method: 'GET',
    path: '/timemap/link/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'List the mementos of a URL in link format (RFC 7089, section 5)',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', mediaTypes: ['application/link-format'] } },
    problems: ['not_found'],
  }),
  readTimeMap: route({
    method: 'GET',
    path: '/timemap/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'The same as /timemap/link/{url}',
    description: ABOUT_ADDRESSES,
    responses: { 200: { description: 'The TimeMap', mediaTypes: ['application/link-format'] } },
    problems: ['not_found'],
  }),
  readTimeGate: route({
    method: 'GET',
    path: '/timegate/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Redirect to the memento of a URL that is nearest to a time (RFC 7089, section 4)',
    description: ABOUT_ADDRESSES,
    headers: { 'Accept-Datetime': 'The requested time, as an HTTP date. The default is the newest memento.' },
    responses: { 302: { description: 'Redirect to the memento' } },
    problems: ['not_found', 'invalid_datetime'],
  }),
  readMemento: route({
    method: 'GET',
    path: '/memento/{time}/{+url}',
    access: 'read',
    tag: 'Mementos',
    summary: 'Read a memento: the bytes of a URL at a time, exactly as they were retrieved',
    description: `The time is \`YYYYMMDDhhmmssmmm\` in UTC. Without the milliseconds it selects the first memento of that second. ${ABOUT_ADDRESSES}`,
    responses: {
      200: { description: 'The bytes, with the recorded content type', mediaTypes: ['*/*'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['*/*'] },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', ...UNREADABLE, 'range_not_satisfiable', 'copy_unreachable'],
  }),
};

export const warcRoutes = {
  exportWarc: route({
    method: 'GET',
    path: '/api/warc',
    access: 'read',
    tag: 'Objects',
    summary: 'Export the retrievals of one source or of all sources as a WARC/1.1 file',
    description:
      'A consistent snapshot. `since` and `until` limit it by `observed_at`. With `gzip=true` each record is compressed separately. Objects that are withheld from visitors are left out for them; the metadata record of the retrieval says so. Apart from that, the same retrievals always give the same bytes.',
    query: warcQuery,
    responses: { 200: { description: 'The WARC file', mediaTypes: ['application/warc'] } },
    problems: ['not_found', 'storage_failed', 'busy', 'copy_unreachable'],
  }),
  exportWacz: route({
    method: 'GET',
    path: '/api/wacz',
    access: 'read',
    tag: 'Objects',
    summary: 'Export the retrievals of one source or of all sources as a signed WACZ 1.1.1 package',
    description:
      'The retrievals as a WARC file, an index, the pages with their texts, and `strongroom/` with a checkpoint of the ledger and proofs. `since` and `until` limit it by `observed_at`. The key of the signature is certified by the ledger entry `key.certified`.',
    query: waczQuery,
    responses: { 200: { description: 'The package', mediaTypes: ['application/wacz'] } },
    problems: ['not_found', 'storage_failed', 'disk_nearly_full', 'busy', 'copy_unreachable'],
  }),
};
