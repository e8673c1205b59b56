import { z } from 'zod';
import { collectionResultSchema, newCollectionSchema } from '../collection.ts';
import { jobSchema } from '../job.ts';
import { booleanParameter, listQuery, pageOf } from '../list.ts';
import {
  newSourceSchema,
  retrievalProofSchema,
  retrievalSchema,
  sourceChangeSchema,
  sourcePreviewSchema,
  sourcesQuery,
  watchedSourceSchema,
  watchedUrlSchema,
} from '../source.ts';
import { LIST_MEDIA_TYPES, sourceImportSchema } from '../sourceList.ts';
import { jsonBody, route } from './route.ts';

/** The routes with which the owner manages the watched sources and starts collections. */
export const sourceRoutes = {
  listWatchedSources: route({
    method: 'GET',
    path: '/manage/sources',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the watched sources, with their configuration and last result',
    query: sourcesQuery,
    responses: { 200: { description: 'A page of sources', schema: pageOf(watchedSourceSchema) } },
    problems: [],
  }),
  addSource: route({
    method: 'POST',
    path: '/manage/sources',
    access: 'owner',
    tag: 'Manage',
    summary: 'Watch a source',
    body: jsonBody(newSourceSchema),
    responses: { 201: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['source_exists'],
  }),
  previewSource: route({
    method: 'POST',
    path: '/manage/sources/preview',
    access: 'owner',
    tag: 'Manage',
    summary: 'Fetch a URL once without storing anything, to see what would be stored',
    body: jsonBody(z.strictObject({ url: watchedUrlSchema }).meta({ id: 'PreviewRequest' })),
    responses: { 200: { description: 'The result of the request', schema: sourcePreviewSchema } },
    problems: [],
  }),
  importSources: route({
    method: 'POST',
    path: '/manage/sources/import',
    access: 'owner',
    tag: 'Manage',
    summary: 'Import a list of sources to watch',
    description:
      'Accepts plain text with one URL per line (`#` starts a comment), CSV with a header that contains `url` and optional fields of a source, or OPML, whose outlines become tags. At most 10,000 entries. Each entry has its own result.',
    body: { kind: 'stream', mediaTypes: Object.keys(LIST_MEDIA_TYPES) },
    responses: { 200: { description: 'The result for each entry', schema: sourceImportSchema } },
    problems: ['invalid_list'],
  }),
  readWatchedSource: route({
    method: 'GET',
    path: '/manage/sources/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Read a source, with its configuration and last result',
    responses: { 200: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['not_found'],
  }),
  listRetrievals: route({
    method: 'GET',
    path: '/manage/sources/{id}/retrievals',
    access: 'owner',
    tag: 'Manage',
    summary: 'List the retrievals of a source, including failed ones',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of retrievals, newest first', schema: pageOf(retrievalSchema) },
    },
    problems: ['not_found'],
  }),
  proveRetrieval: route({
    method: 'GET',
    path: '/api/retrievals/{id}/proof',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that a ledger entry covers a retrieval',
    description: 'The proof does not need the other retrievals that the entry covers.',
    responses: { 200: { description: 'The retrieval and its audit path', schema: retrievalProofSchema } },
    problems: ['not_found'],
  }),
  changeSource: route({
    method: 'PATCH',
    path: '/manage/sources/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Edit or pause a source',
    body: jsonBody(sourceChangeSchema),
    responses: { 200: { description: 'The source', schema: watchedSourceSchema } },
    problems: ['not_found'],
  }),
  removeSource: route({
    method: 'DELETE',
    path: '/manage/sources/{id}',
    access: 'owner',
    tag: 'Manage',
    summary: 'Stop watching a source; its history is kept',
    responses: { 204: { description: 'The source is no longer watched' } },
    problems: ['not_found'],
  }),
  collect: route({
    method: 'POST',
    path: '/manage/collections',
    access: 'owner',
    tag: 'Manage',
    summary: 'Check all sources or some of them now',
    description: 'With `wait=true` the response is sent when the collection has ended.',
    query: z.strictObject({ wait: booleanParameter.optional() }),
    body: { ...jsonBody(newCollectionSchema), optional: true as const },
    responses: {
      200: { description: 'The result of the collection', schema: collectionResultSchema },
      202: { description: 'The job that runs the collection', schema: jobSchema },
    },
    problems: ['unknown_source'],
  }),
};
