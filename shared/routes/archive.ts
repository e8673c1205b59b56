import { z } from 'zod';
import { CITATION_FORMATS, citationQuery, citationSchema, DESCRIPTOR_FORMATS } from '../citation.ts';
import { commentSchema, commentsQuery, newCommentSchema } from '../comment.ts';
import { MAX_NODE_LISTING } from '../limits.ts';
import { pageOf } from '../list.ts';
import { newNodeSchema, nodeCountsSchema, nodePathSchema, nodeSchema, treeSchema } from '../node.ts';
import {
  newFlagSchema,
  packRecordSchema,
  packSchema,
  packsQuery,
  packUploadRecordSchema,
  verificationSchema,
} from '../pack.ts';
import { newStatusSchema, newStudySchema, studiesQuery, studySchema, studyTableSchema } from '../study.ts';
import { jsonBody, route } from './route.ts';

/** A node's page: the node, where it hangs, its children, and the newest studies and packs of its subtree. */
export const nodePageSchema = nodeSchema
  .extend({
    /** Studies and packs of the whole subtree; children hang directly here. */
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
    summary: 'The tree of nodes',
    answers: { 200: { description: 'All nodes, as a tree', schema: treeSchema } },
    problems: [],
  }),
  createNode: route({
    method: 'POST',
    path: '/api/nodes',
    access: 'contribute',
    tag: 'Nodes',
    summary: 'Create a node',
    body: jsonBody(newNodeSchema),
    answers: { 201: { description: 'The node', schema: nodeSchema } },
    problems: ['parent_missing', 'node_exists'],
  }),
  readNode: route({
    method: 'GET',
    path: '/api/nodes/{+path}',
    access: 'read',
    tag: 'Nodes',
    summary: 'Read a node',
    answers: { 200: { description: 'The node, and the newest of what it holds', schema: nodePageSchema } },
    problems: ['not_found'],
  }),
  listPacks: route({
    method: 'GET',
    path: '/api/packs',
    access: 'read',
    tag: 'Packs',
    summary: 'List packs',
    query: packsQuery,
    answers: { 200: { description: 'A page of packs, newest first', schema: pageOf(packSchema) } },
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
      'Repr-Digest': 'The SHA-256 of the body (RFC 9530); where it does not match, nothing is kept.',
      'Content-Digest': 'The same.',
    },
    answers: {
      200: {
        description: 'The same record is in the archive already; nothing was written',
        schema: packSchema,
      },
      201: { description: 'The pack, on stable storage', schema: packSchema },
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
    answers: { 200: { description: 'The record and what the archive adds to it', schema: packSchema } },
    problems: ['not_found'],
  }),
  readPackFile: route({
    method: 'GET',
    path: '/api/packs/{id}/file',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a pack file: a BagIt bag of the record and its files, the same bytes on every node',
    answers: {
      200: { description: 'The pack file', mediaTypes: ['application/zip'] },
      304: { description: 'The copy held is the same' },
    },
    problems: ['not_found', 'precondition_failed', 'blob_damaged'],
  }),
  verifyPack: route({
    method: 'GET',
    path: '/api/packs/{id}/verify',
    access: 'read',
    tag: 'Packs',
    summary: 'Verify a pack: its fingerprint, every stored byte, its ledger entry',
    answers: {
      200: {
        description: 'Each check with what was expected and what was found',
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
    answers: { 201: { description: 'The pack with its flags', schema: packSchema } },
    problems: ['not_found'],
  }),
  listStudies: route({
    method: 'GET',
    path: '/api/studies',
    access: 'read',
    tag: 'Studies',
    summary: 'List studies',
    query: studiesQuery,
    answers: { 200: { description: 'A page of studies, newest first', schema: pageOf(studySchema) } },
    problems: [],
  }),
  createStudy: route({
    method: 'POST',
    path: '/api/studies',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Create a study',
    body: jsonBody(newStudySchema),
    answers: { 201: { description: 'The study', schema: studySchema } },
    problems: ['unknown_node'],
  }),
  readStudy: route({
    method: 'GET',
    path: '/api/studies/{id}',
    access: 'read',
    tag: 'Studies',
    summary: 'Read a study',
    answers: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found'],
  }),
  setStudyStatus: route({
    method: 'POST',
    path: '/api/studies/{id}/status',
    access: 'contribute',
    tag: 'Studies',
    summary: 'Set the status of a study',
    body: jsonBody(newStatusSchema),
    answers: { 200: { description: 'The study', schema: studySchema } },
    problems: ['not_found', 'invalid_transition'],
  }),
  readStudyTable: route({
    method: 'GET',
    path: '/api/studies/{id}/table',
    access: 'read',
    tag: 'Studies',
    summary: 'The results of a study, one row per pack',
    query: z.strictObject({
      format: z
        .string()
        .optional()
        .meta({ enum: ['csv'] }),
    }),
    answers: { 200: { description: 'The table', schema: studyTableSchema, mediaTypes: ['text/csv'] } },
    problems: ['not_found', 'invalid_format'],
  }),
  listComments: route({
    method: 'GET',
    path: '/api/items/{id}/comments',
    access: 'read',
    tag: 'Comments',
    summary: 'List the comments of a pack or a study',
    query: commentsQuery,
    answers: { 200: { description: 'A page of comments, oldest first', schema: pageOf(commentSchema) } },
    problems: ['not_found'],
  }),
  addComment: route({
    method: 'POST',
    path: '/api/items/{id}/comments',
    access: 'contribute',
    tag: 'Comments',
    summary: 'Comment on a pack or a study',
    body: jsonBody(newCommentSchema),
    answers: { 201: { description: 'The comment', schema: commentSchema } },
    problems: ['not_found', 'unknown_comment'],
  }),
  readCitation: route({
    method: 'GET',
    path: '/api/items/{id}/cite',
    access: 'read',
    tag: 'Citations',
    summary: 'How to cite a pack or a study',
    description: 'Each form has a media type of its own: it can be asked for by `format` or by `Accept`.',
    query: citationQuery,
    answers: {
      200: {
        description: 'The citation in every form, or in the one that was asked for',
        schema: citationSchema,
        mediaTypes: [...Object.values(CITATION_FORMATS), ...Object.values(DESCRIPTOR_FORMATS)],
      },
    },
    problems: ['not_found', 'invalid_format', 'not_acceptable'],
  }),
  readBlob: route({
    method: 'GET',
    path: '/api/blobs/{sha256}',
    access: 'read',
    tag: 'Blobs',
    summary: 'Fetch a blob by its digest',
    answers: {
      200: { description: 'The bytes', mediaTypes: ['application/octet-stream'] },
      206: { description: 'The range or ranges asked for', mediaTypes: ['application/octet-stream'] },
      304: { description: 'The copy held is the same' },
    },
    problems: ['invalid_digest', 'not_found', 'range_not_satisfiable'],
  }),
};
