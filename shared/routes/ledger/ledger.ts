import { z } from 'zod';
import { keyChangeSchema } from '../../ledger/keyChange.ts';
import {
  consistencyProofSchema,
  consistencyQuery,
  inclusionProofSchema,
  ledgerPageSchema,
  ledgerQuery,
  ledgerVerificationSchema,
  proofQuery,
} from '../../ledger/ledger.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { route } from '../route.ts';

/** The ledger, its proofs and the dump, with which others can verify the whole archive. */
export const ledgerRoutes = {
  readLedger: route({
    method: 'GET',
    path: '/api/ledger',
    access: 'read',
    tag: 'Ledger',
    summary: 'List ledger entries, starting at `from`',
    query: ledgerQuery,
    responses: { 200: { description: 'A page of entries in order, and the head', schema: ledgerPageSchema } },
    problems: [],
  }),
  verifyLedger: route({
    method: 'GET',
    path: '/api/ledger/verify',
    access: 'read',
    tag: 'Ledger',
    summary: 'Verify the ledger',
    description: 'Checks every entry and link, the root, and every digest that the archive can recompute.',
    responses: {
      200: { description: 'The result, with the problems found', schema: ledgerVerificationSchema },
    },
    problems: ['storage_failed'],
  }),
  readCheckpoint: route({
    method: 'GET',
    path: '/api/ledger/checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read a checkpoint: the signed size and root of the ledger (C2SP tlog-checkpoint)',
    responses: { 200: { description: 'A signed note', mediaTypes: ['text/plain'] } },
    problems: ['disk_nearly_full', 'storage_failed', 'archive_read_only'],
  }),
  readLedgerKey: route({
    method: 'GET',
    path: '/api/ledger/key',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read the verifier key of the node’s checkpoints (C2SP signed-note)',
    responses: { 200: { description: 'The key, as `name+hash+key`', mediaTypes: ['text/plain'] } },
    problems: [],
  }),
  listKeyChanges: route({
    method: 'GET',
    path: '/api/ledger/keys',
    access: 'read',
    tag: 'Ledger',
    summary: 'List the changes of the node’s key: renewals and rollbacks of the ledger',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of changes, newest first', schema: pageOf(keyChangeSchema) } },
    problems: [],
  }),
  proveInclusion: route({
    method: 'GET',
    path: '/api/ledger/proof',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that an entry is in the ledger',
    query: proofQuery,
    responses: {
      200: {
        description:
          'The audit path; with `format=tlog-proof` a file that can be verified offline (C2SP tlog-proof)',
        schema: inclusionProofSchema,
        mediaTypes: ['text/plain'],
      },
    },
    problems: ['invalid_format', 'disk_nearly_full', 'storage_failed', 'archive_read_only'],
  }),
  proveConsistency: route({
    method: 'GET',
    path: '/api/ledger/consistency',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that an older state of the ledger is a prefix of a newer one',
    query: consistencyQuery,
    responses: { 200: { description: 'The proof', schema: consistencyProofSchema } },
    problems: [],
  }),
  readLogCheckpoint: route({
    method: 'GET',
    path: '/log/checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'The checkpoint of the ledger as a static log (C2SP tlog-tiles)',
    description: 'The same as /api/ledger/checkpoint. `/log` is the prefix of the log.',
    responses: { 200: { description: 'A signed note', mediaTypes: ['text/plain'] } },
    problems: ['disk_nearly_full', 'storage_failed', 'archive_read_only'],
  }),
  readTile: route({
    method: 'GET',
    path: '/log/tile/{+tile}',
    access: 'read',
    tag: 'Ledger',
    summary: 'A tile of the ledger’s Merkle tree, or of its entries (C2SP tlog-tiles)',
    description:
      '`<L>/<N>`: 256 hashes of level L, 32 bytes each. `entries/<N>`: 256 leaves, each after its length in two bytes, highest first. `.p/<W>` after either: the first W of them. A tile never changes.',
    headers: { 'Accept-Encoding': 'Entries are compressed where it takes `gzip`.' },
    responses: { 200: { description: 'The tile', mediaTypes: ['application/octet-stream'] } },
    problems: ['not_found'],
  }),
  readDump: route({
    method: 'GET',
    path: '/api/dump.jsonl',
    access: 'read',
    tag: 'Dump',
    summary: 'Dump the whole archive as JSON Lines',
    description: 'A consistent snapshot of every record. The bytes of the blobs are not included.',
    responses: {
      200: {
        description: 'A header, one line per record, and a trailer with the SHA-256 of all bytes before it',
        mediaTypes: ['application/x-ndjson'],
      },
    },
    problems: ['storage_failed', 'disk_nearly_full', 'busy'],
  }),
  readArchive: route({
    method: 'GET',
    path: '/manage/archive.zip',
    access: 'owner',
    tag: 'Dump',
    summary: 'Export the whole archive with its blobs',
    description:
      'One BagIt bag in a ZIP file, which `strongroom import` reads back into an equal archive. Every blob is re-hashed. At one that is missing or damaged, the response breaks off. The header `Strongroom-Export` has the number and the bytes of the blobs.',
    responses: { 200: { description: 'The archive', mediaTypes: ['application/zip'] } },
    problems: ['storage_failed', 'disk_nearly_full', 'busy', 'archive_read_only'],
  }),
};
