import { z } from 'zod';
import { keyChangeSchema } from '../keyChange.ts';
import {
  consistencyProofSchema,
  consistencyQuery,
  inclusionProofSchema,
  ledgerPageSchema,
  ledgerQuery,
  ledgerVerificationSchema,
  proofQuery,
} from '../ledger.ts';
import { listQuery, pageOf } from '../list.ts';
import { route } from './route.ts';

/** What lets others check the whole archive: the ledger, its proofs, and the dump. */
export const ledgerRoutes = {
  readLedger: route({
    method: 'GET',
    path: '/api/ledger',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read the ledger from an entry on',
    query: ledgerQuery,
    answers: { 200: { description: 'Entries in order, and the head', schema: ledgerPageSchema } },
    problems: [],
  }),
  verifyLedger: route({
    method: 'GET',
    path: '/api/ledger/verify',
    access: 'read',
    tag: 'Ledger',
    summary: 'Verify the ledger: every entry, link, the root, and every digest the archive can recompute',
    answers: { 200: { description: 'What was found', schema: ledgerVerificationSchema } },
    problems: ['storage_failed'],
  }),
  readCheckpoint: route({
    method: 'GET',
    path: '/api/ledger/checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'The size and root of the ledger under the node’s signature (C2SP tlog-checkpoint)',
    answers: { 200: { description: 'A signed note', mediaTypes: ['text/plain'] } },
    problems: ['disk_nearly_full', 'storage_failed'],
  }),
  readLedgerKey: route({
    method: 'GET',
    path: '/api/ledger/key',
    access: 'read',
    tag: 'Ledger',
    summary: 'The verifier key of the node’s checkpoints (C2SP signed-note)',
    answers: { 200: { description: 'name+hash+key', mediaTypes: ['text/plain'] } },
    problems: [],
  }),
  listKeyChanges: route({
    method: 'GET',
    path: '/api/ledger/keys',
    access: 'read',
    tag: 'Ledger',
    summary: 'Every change of the node’s key, newest first: renewals, and ledgers that were rolled back',
    query: z.strictObject(listQuery),
    answers: { 200: { description: 'A page of changes', schema: pageOf(keyChangeSchema) } },
    problems: [],
  }),
  proveInclusion: route({
    method: 'GET',
    path: '/api/ledger/proof',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that an entry is in the ledger',
    query: proofQuery,
    answers: {
      200: {
        description:
          'The audit path; with format=tlog-proof a file that can be checked with no node (C2SP tlog-proof)',
        schema: inclusionProofSchema,
        mediaTypes: ['text/plain'],
      },
    },
    problems: ['invalid_format', 'disk_nearly_full', 'storage_failed'],
  }),
  proveConsistency: route({
    method: 'GET',
    path: '/api/ledger/consistency',
    access: 'read',
    tag: 'Ledger',
    summary: 'Prove that an older ledger is the beginning of a newer one',
    query: consistencyQuery,
    answers: { 200: { description: 'The proof', schema: consistencyProofSchema } },
    problems: [],
  }),
  readLogCheckpoint: route({
    method: 'GET',
    path: '/log/checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'The checkpoint of the ledger as a static log (C2SP tlog-tiles)',
    description: 'The same as /api/ledger/checkpoint. `/log` is the prefix of the log.',
    answers: { 200: { description: 'A signed note', mediaTypes: ['text/plain'] } },
    problems: ['disk_nearly_full', 'storage_failed'],
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
    answers: { 200: { description: 'The tile', mediaTypes: ['application/octet-stream'] } },
    problems: ['not_found'],
  }),
  readDump: route({
    method: 'GET',
    path: '/api/dump.jsonl',
    access: 'read',
    tag: 'Dump',
    summary: 'The whole archive but the bytes of its blobs, as JSON Lines, of one instant',
    answers: {
      200: {
        description: 'A header, a line a record, and a trailer with the SHA-256 of all bytes before it',
        mediaTypes: ['application/x-ndjson'],
      },
    },
    problems: ['storage_failed', 'disk_nearly_full', 'busy'],
  }),
};
