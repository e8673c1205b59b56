import { z } from 'zod';
import {
  CITATION_FORMATS,
  citationQuery,
  citationSchema,
  DESCRIPTOR_FORMATS,
  LINKSET_FORMATS,
  linksetQuery,
} from '../archive/citation.ts';
import { commentSchema, commentsQuery, newCommentSchema } from '../archive/comment.ts';
import {
  newFlagSchema,
  packRecordSchema,
  packSchema,
  packsQuery,
  packUploadRecordSchema,
  verificationSchema,
} from '../archive/pack.ts';
import {
  newStatusSchema,
  newStudySchema,
  studiesQuery,
  studySchema,
  studyTableSchema,
} from '../archive/study.ts';
import {
  newNodeSchema,
  nodeCountsSchema,
  nodePathSchema,
  nodeSchema,
  treeSchema,
} from '../archive/treeNode.ts';
import { MAX_NODE_LISTING } from '../limits.ts';
import { pageOf } from '../values/list.ts';
import { jsonBody, route } from './route.ts';

/** The page of a tree node: its ancestors, its children, and the newest studies and packs of its subtree. */
export const nodePageSchema = nodeSchema
  .extend({
    /** Studies and packs of the whole subtree; direct children only. */
    counts: nodeCountsSchema.extend({ children: z.int() }),
    ancestors: z.array(z.strictObject({ path: nodePathSchema, title: z.string() })),
    children: z.array(nodeSchema.extend({ counts: nodeCountsSchema })).max(MAX_NODE_LISTING),
    studies: z.array(studySchema).max(MAX_NODE_LISTING),
    packs: z.array(packSchema).max(MAX_NODE_LISTING),
  })
  .meta({ id: 'NodePage' });
export type NodePage = z.output<typeof nodePageSchema>;

/** Interface A: the data-pack archive. */
export const archiveRoutes = {
  readTree: route({
    method: 'GET',
    path: '/api/tree',
    access: 'read',
    tag: 'Nodes',
    summary: 'Read the tree of nodes',
    responses: { 200: { description: 'All nodes, as a tree', schema: treeSchema } },
    problems: [],
  }),
  createNode: route({
    method: 'POST',
    path: '/api/nodes',
    access: 'contribute',
    tag: 'Nodes',
    summary: 'Create a node',
    body: jsonBody(newNodeSchema),
    responses: { 201: { description: 'The node', schema: nodeSchema } },
    problems: ['parent_missing', 'node_exists'],
  }),
  readNode: route({
    method: 'GET',
    path: '/api/nodes/{+path}',
    access: 'read',
    tag: 'Nodes',
    summary: 'Read a node',
    responses: {
      200: {
        description: 'The node, with the newest studies and packs of its subtree',
        schema: nodePageSchema,
      },
    },
    problems: ['not_found'],
  }),
  listPacks: route({
    method: 'GET',
    path: '/api/packs',
    access: 'read',
    tag: 'Packs',
    summary: 'List packs',
    query: packsQuery,
    responses: {
      200: { description: 'A page of packs, newest first unless `sort` is set', schema: pageOf(packSchema) },
    },
    problems: [],
  }),
  addPack: route({
    method: 'POST',
    path: '/api/packs',
    access: 'contribute',
    tag: 'Packs',
    summary: 'Upload a pack',
    body: {
      kind: 'stream',
      mediaTypes: ['application/json', 'multipart/form-data', 'application/zip'],
      json: packRecordSchema,
      parts: { record: packUploadRecordSchema, files: 'files' },
    },
    headers: {
      'Repr-Digest':
        'The SHA-256 of the body (RFC 9530). If it does not match, the upload is refused and nothing is stored.',
      'Content-Digest': 'Same as `Repr-Digest`.',
    },
    responses: {
      200: {
        description: 'The archive already holds this record; nothing was written',
        schema: packSchema,
      },
      201: { description: 'The pack was added and is on stable storage', schema: packSchema },
    },
    problems: [
      'terms_not_accepted',
      'unknown_node',
      'unknown_study',
      'unknown_pack',
      'unknown_blob',
      'digest_mismatch',
      'files_mismatch',
      'pack_too_large',
      'invalid_multipart',
      'invalid_digest_header',
      'id_taken',
      'unsafe_path',
      'symlink_entry',
      'encrypted_entry',
      'duplicate_entry',
      'unknown_entry',
      'manifest_mismatch',
      'excessive_compression',
      'invalid_name_encoding',
      'invalid_pack_file',
    ],
  }),
  readPack: route({
    method: 'GET',
    path: '/api/packs/{id}',
    access: 'read',
    tag: 'Packs',
    summary: 'Read a pack',
    responses: {
      200: { description: 'The record, with the fields that the archive adds', schema: packSchema },
    },
    problems: ['not_found'],
  }),
  readPackFile: route({
    method: 'GET',
    path: '/api/packs/{id}/file',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a pack as one file',
    description:
      'A BagIt bag (RFC 8493) of the record and its files, in a ZIP. Every node sends the same bytes.',
    responses: {
      200: { description: 'The pack file', mediaTypes: ['application/zip'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/zip', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', 'precondition_failed', 'range_not_satisfiable', 'blob_damaged'],
  }),
  verifyPack: route({
    method: 'GET',
    path: '/api/packs/{id}/verify',
    access: 'read',
    tag: 'Packs',
    summary: 'Verify a pack',
    description: 'Recomputes the fingerprint, hashes every stored file again and checks the ledger entry.',
    responses: {
      200: {
        description: 'Every check, with the expected and the actual value',
        schema: verificationSchema,
      },
    },
    problems: ['not_found'],
  }),
  flagPack: route({
    method: 'POST',
    path: '/api/packs/{id}/flag',
    access: 'contribute',
    tag: 'Packs',
    summary: 'Flag a pack',
    body: jsonBody(newFlagSchema),
    responses: { 201: { description: 'The pack, with its flags', schema: packSchema } },
    problems: ['not_found'],
  }),
  listStudies: route({
    method: 'GET',
    path: '/api/studies',
    access: 'read',
    tag: 'Studies',
    summary: 'List studies',
    query: studiesQuery,
    responses: { 200: { description: 'A page of studies, newest first', schema: pageOf(studySchema) } },
    problems: [],
  }),
  createStudy: route({
    method: 'POST',
    path: '/api/studies',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Create a study',
    body: jsonBody(newStudySchema),
    responses: { 201: { description: 'The study', schema: studySchema } },
    problems: ['unknown_node'],
  }),
  readStudy: route({
    method: 'GET',
    path: '/api/studies/{id}',
    access: 'read',
    tag: 'Studies',
    summary: 'Read a study',
    responses: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found'],
  }),
  setStudyStatus: route({
    method: 'POST',
    path: '/api/studies/{id}/status',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Set the status of a study',
    body: jsonBody(newStatusSchema),
    responses: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found', 'invalid_transition'],
  }),
  readStudyTable: route({
    method: 'GET',
    path: '/api/studies/{id}/table',
    access: 'read',
    tag: 'Studies',
    summary: 'Read the results of a study as a table',
    description: 'One row per pack, oldest first. With `format=csv` the table is CSV.',
    query: z.strictObject({
      format: z
        .string()
        .optional()
        .meta({ enum: ['csv'] }),
    }),
    responses: { 200: { description: 'The table', schema: studyTableSchema, mediaTypes: ['text/csv'] } },
    problems: ['not_found', 'invalid_format'],
  }),
  listComments: route({
    method: 'GET',
    path: '/api/items/{id}/comments',
    access: 'read',
    tag: 'Comments',
    summary: 'List the comments of a pack or a study',
    query: commentsQuery,
    responses: { 200: { description: 'A page of comments, oldest first', schema: pageOf(commentSchema) } },
    problems: ['not_found'],
  }),
  addComment: route({
    method: 'POST',
    path: '/api/items/{id}/comments',
    access: 'contribute',
    tag: 'Comments',
    summary: 'Comment on a pack or a study',
    body: jsonBody(newCommentSchema),
    responses: { 201: { description: 'The comment', schema: commentSchema } },
    problems: ['not_found', 'unknown_comment'],
  }),
  readCitation: route({
    method: 'GET',
    path: '/api/items/{id}/cite',
    access: 'read',
    tag: 'Citations',
    summary: 'Read the citation of a pack or a study',
    description:
      'Choose one format with `format` or with `Accept`. The default is JSON with all text formats.',
    query: citationQuery,
    responses: {
      200: {
        description: 'The citation in all text formats, or in the requested one',
        schema: citationSchema,
        mediaTypes: [...Object.values(CITATION_FORMATS), ...Object.values(DESCRIPTOR_FORMATS)],
      },
    },
    problems: ['not_found', 'invalid_format', 'not_acceptable'],
  }),
  readLinkset: route({
    method: 'GET',
    path: '/api/items/{id}/linkset',
    access: 'read',
    tag: 'Citations',
    summary: 'Read the typed links of a pack or a study',
    description:
      'All links of the Signposting profile FAIR, as a linkset (RFC 9264). Choose the format with `format` or with `Accept`. The default is `application/linkset+json`.',
    query: linksetQuery,
    responses: { 200: { description: 'The linkset', mediaTypes: Object.values(LINKSET_FORMATS) } },
    problems: ['not_found', 'invalid_format', 'not_acceptable'],
  }),
  readBlob: route({
    method: 'GET',
    path: '/api/blobs/{sha256}',
    access: 'read',
    tag: 'Blobs',
    summary: 'Read a blob by its digest',
    responses: {
      200: { description: 'The bytes', mediaTypes: ['application/octet-stream'] },
      206: { description: 'The requested range or ranges', mediaTypes: ['application/octet-stream'] },
      304: { description: 'Not modified' },
    },
    problems: ['invalid_digest', 'not_found', 'range_not_satisfiable'],
  }),
};
