import { z } from 'zod';
import {
  newFlagSchema,
  packRecordSchema,
  packSchema,
  packsQuery,
  packUploadQuery,
  packUploadRecordSchema,
  verificationSchema,
} from '../../archive/pack.ts';
import {
  comparePackFilesQuery,
  comparePacksQuery,
  packComparisonSchema,
} from '../../archive/packComparison.ts';
import { setEntriesQuery, setEntrySchema, setSchema } from '../../archive/set.ts';
import {
  newNodeSchema,
  nodeCountsSchema,
  nodePathSchema,
  nodeSchema,
  studySchema,
  treeSchema,
} from '../../archive/study.ts';
import { fileDiffSchema } from '../../collection/diff.ts';
import { MAX_NODE_LISTING } from '../../limits.ts';
import { pageOf } from '../../values/list.ts';
import { DIFF_PROBLEMS } from '../collection/derived.ts';
import { jsonBody, route, UNREADABLE } from '../route.ts';

/** The page of a tree node: its ancestors, its children, and the newest studies and packs of its subtree. */
const nodePageSchema = nodeSchema
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

/** The data-pack archive. */
export const archiveRoutes = {
  readTree: route({
    method: 'GET',
    path: '/api/tree',
    access: 'read',
    tag: 'Nodes',
    summary: 'Read the tree of nodes',
    responses: { 200: { description: 'All nodes, as a tree', schema: treeSchema } },
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
  }),
  addPack: route({
    method: 'POST',
    path: '/api/packs',
    access: 'contribute',
    tag: 'Packs',
    summary: 'Upload a pack',
    query: packUploadQuery,
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
      'released',
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
      'invalid_set',
      'blob_damaged',
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
      'A BagIt bag (RFC 8493) of the record and its files, in a ZIP. Every node sends the same bytes. If a file is withheld, visitors get no pack file.',
    responses: {
      200: { description: 'The pack file', mediaTypes: ['application/zip'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/zip', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: [
      'not_found',
      ...UNREADABLE,
      'precondition_failed',
      'range_not_satisfiable',
      'blob_damaged',
      'copy_unreachable',
    ],
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
    problems: ['not_found', 'copy_unreachable'],
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
};

/** Differences between two packs, such as two versions of one. */
export const packComparisonRoutes = {
  comparePacks: route({
    method: 'GET',
    path: '/api/packs/{id}/compare',
    access: 'read',
    tag: 'Packs',
    summary: 'Compare two packs',
    description:
      'Compares the records field by field, and the files by path and digest. `id` is the older pack and `with` the ' +
      'newer one; they need not be versions of each other.',
    query: comparePacksQuery,
    responses: { 200: { description: 'The differences from `id` to `with`', schema: packComparisonSchema } },
    problems: ['not_found'],
  }),
  comparePackFiles: route({
    method: 'GET',
    path: '/api/packs/{id}/compare/file',
    access: 'read',
    tag: 'Packs',
    summary: 'Compare a file of two packs',
    description:
      'Compares the contents of the files that two packs have at one path, in the form that suits their media types. ' +
      'The diff is derived data and is not stored.',
    query: comparePackFilesQuery,
    headers: { 'If-None-Match': 'The entity tag of a cached copy.' },
    responses: {
      200: { description: 'The diff; its form depends on the kind of the files', schema: fileDiffSchema },
      304: { description: 'Not modified' },
    },
    problems: DIFF_PROBLEMS,
  }),
};

const RESPONSES = {
  200: { description: 'One HTML file that checks itself, without network', mediaTypes: ['text/html'] },
} as const;
const DESCRIPTION =
  'The file holds the record, its ledger entry, proofs, the checkpoints with all signatures, the timestamps, and the bytes (up to 10 MB in all; beyond that, and where they are withheld, by digest). Opened in a browser it recomputes all of it and says of each claim whether it holds, fails, or is only claimed.';
const PROBLEMS = [
  'not_found',
  'busy',
  'interface_missing',
  'archive_read_only',
  'database_damaged',
  'disk_nearly_full',
  'storage_failed',
] as const;

/** The bytes of 10 MB in base64, as one text and in the pieces that are sent. */
const EVIDENCE_MEMORY_MB = 32;

/** Evidence files: what a record says and what proves it, in one file. */
export const evidenceRoutes = {
  readEventEvidence: route({
    method: 'GET',
    path: '/api/events/{id}/evidence',
    access: 'read',
    tag: 'Timeline',
    summary: 'Download the evidence file of an event',
    description: DESCRIPTION,
    responses: RESPONSES,
    memoryMb: EVIDENCE_MEMORY_MB,
    problems: PROBLEMS,
  }),
  readFindingEvidence: route({
    method: 'GET',
    path: '/api/findings/{id}/evidence',
    access: 'read',
    tag: 'Findings',
    summary: 'Open the evidence file of a quoted passage',
    description: `${DESCRIPTION} It shows the passage first, and looks for the quoted words in the bytes.`,
    responses: RESPONSES,
    memoryMb: EVIDENCE_MEMORY_MB,
    problems: [...PROBLEMS, 'finding_sealed', 'no_passage', 'withheld', 'released', 'derivation_busy'],
  }),
  readPackEvidence: route({
    method: 'GET',
    path: '/api/packs/{id}/evidence',
    access: 'read',
    tag: 'Packs',
    summary: 'Download the evidence file of a pack',
    description: DESCRIPTION,
    responses: RESPONSES,
    memoryMb: EVIDENCE_MEMORY_MB,
    problems: PROBLEMS,
  }),
};

const DAMAGED = ['blob_damaged', 'copy_unreachable'] as const;
const RANGES = ['precondition_failed', 'range_not_satisfiable'] as const;

/** Sets: data of more than one pack. A set is named by its manifest pack. */
export const setRoutes = {
  readSet: route({
    method: 'GET',
    path: '/api/packs/{id}/set',
    access: 'read',
    tag: 'Packs',
    summary: 'List the files of a set',
    responses: { 200: { description: 'The files, by path', schema: setSchema } },
    problems: ['not_found', ...UNREADABLE, ...DAMAGED],
  }),
  listSetEntries: route({
    method: 'GET',
    path: '/api/packs/{id}/set/entries',
    access: 'read',
    tag: 'Packs',
    summary: 'List a folder of a set',
    description: 'Folders first, then files, both in the order of their paths.',
    query: setEntriesQuery,
    responses: { 200: { description: 'A page of the folder', schema: pageOf(setEntrySchema) } },
    problems: ['not_found', ...UNREADABLE, ...DAMAGED],
  }),
  readSetFile: route({
    method: 'GET',
    path: '/api/packs/{id}/set/files/{+path}',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a file of a set',
    description: 'One stream of the parts of the file, with ranges across them.',
    responses: {
      200: { description: 'The file', mediaTypes: ['application/octet-stream'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/octet-stream', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', ...UNREADABLE, ...RANGES, ...DAMAGED],
  }),
  downloadSet: route({
    method: 'GET',
    path: '/api/packs/{id}/set/download',
    access: 'read',
    tag: 'Packs',
    summary: 'Download a set as one file',
    description:
      'A BagIt bag (RFC 8493) of all files, in a ZIP (ZIP64) without compression. Every node sends the same bytes, so an interrupted download can be resumed. If a file is withheld, visitors get no ZIP.',
    responses: {
      200: { description: 'The ZIP', mediaTypes: ['application/zip'] },
      206: {
        description: 'The requested range or ranges',
        mediaTypes: ['application/zip', 'multipart/byteranges'],
      },
      304: { description: 'Not modified' },
    },
    problems: ['not_found', ...UNREADABLE, ...RANGES, ...DAMAGED],
  }),
};
