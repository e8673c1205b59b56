import { z } from 'zod';
import {
  auditResultSchema,
  auditSchema,
  damagedFileSchema,
  damageSchema,
  lostFileSchema,
} from '../ledger/fixity.ts';
import {
  authoritiesSchema,
  consistencyProofSchema,
  consistencyQuery,
  entryTitleSchema,
  inclusionProofSchema,
  keyChangeSchema,
  ledgerPageSchema,
  ledgerQuery,
  ledgerVerificationSchema,
  newWitnessedLogSchema,
  proofQuery,
  stampingSchema,
  timestampSchema,
  witnessedLogSchema,
  witnessRefusalSchema,
  witnessStatesSchema,
} from '../ledger/ledger.ts';
import { listQuery, pageOf } from '../values/list.ts';
import { jobOrResult, jsonBody, manageRoute, NO_BODY, route } from './route.ts';

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
  }),
  listEntryTitles: route({
    method: 'GET',
    path: '/api/ledger/titles',
    access: 'read',
    tag: 'Ledger',
    summary: 'List what ledger entries are about, in words, starting at `from`',
    description: 'For display: the titles of today. The entries themselves name ids.',
    query: ledgerQuery,
    responses: {
      200: {
        description: 'The titles in order',
        schema: z.strictObject({ items: z.array(entryTitleSchema) }),
      },
    },
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
  }),
  listKeyChanges: route({
    method: 'GET',
    path: '/api/ledger/keys',
    access: 'read',
    tag: 'Ledger',
    summary: 'List the changes of the node’s key: renewals and rollbacks of the ledger',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of changes, newest first', schema: pageOf(keyChangeSchema) } },
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
    summary: 'Dump the entire archive as JSON Lines',
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
    summary: 'Export the entire archive with its blobs',
    description:
      'One BagIt bag in a ZIP file, which `strongroom import` reads back into an equal archive. Every blob is re-hashed. If a blob is missing or damaged, the response is aborted. If a copy with offloaded objects cannot be read, there is none. The header `Strongroom-Export` has the number and the bytes of the blobs.',
    responses: { 200: { description: 'The archive', mediaTypes: ['application/zip'] } },
    problems: [
      'storage_failed',
      'disk_nearly_full',
      'busy',
      'archive_read_only',
      'copy_unreachable',
      'blob_damaged',
    ],
  }),
};

/** Witnesses of this node, and this node as a witness of other logs (C2SP tlog-witness, tlog-cosignature). */
export const witnessRoutes = {
  addCheckpoint: route({
    method: 'POST',
    path: '/witness/add-checkpoint',
    access: 'read',
    tag: 'Ledger',
    summary: 'Have a checkpoint of another log cosigned by this node (C2SP tlog-witness)',
    description:
      'The body is `old <size>`, a consistency proof from that size, an empty line and the checkpoint. The owner names the logs. The state is on stable storage before the response is sent.',
    body: { kind: 'stream', mediaTypes: ['text/plain'] },
    responses: {
      200: { description: 'The cosignature: a signature line', mediaTypes: ['text/plain'] },
      409: {
        description: 'The size of the checkpoint that was cosigned last',
        mediaTypes: ['text/x.tlog.size'],
      },
    },
    problems: [
      'invalid_checkpoint',
      'checkpoint_not_signed',
      'unknown_log',
      'inconsistent_checkpoint',
      'body_too_large',
      'archive_read_only',
      'disk_nearly_full',
      'storage_failed',
    ],
  }),
  readWitnessKey: route({
    method: 'GET',
    path: '/witness/key',
    access: 'read',
    tag: 'Ledger',
    summary: 'Read the verifier key of this node as a witness (C2SP tlog-cosignature)',
    responses: { 200: { description: 'The key, as `name+hash+key`', mediaTypes: ['text/plain'] } },
    problems: ['archive_read_only'],
  }),
  readWitnesses: manageRoute({
    method: 'GET',
    path: '/manage/witnesses',
    summary: 'Read what each witness of the settings cosigned',
    responses: { 200: { description: 'The witnesses', schema: witnessStatesSchema } },
  }),
  submitToWitnesses: manageRoute({
    method: 'POST',
    path: '/manage/witnesses/submit',
    summary: 'Send the checkpoint to every witness now',
    body: NO_BODY,
    responses: { 200: { description: 'The witnesses, after they were asked', schema: witnessStatesSchema } },
    problems: ['archive_read_only', 'disk_nearly_full', 'storage_failed', 'shutting_down'],
  }),
  listWitnessedLogs: manageRoute({
    method: 'GET',
    path: '/manage/witness/logs',
    summary: 'List the logs for which this node is a witness',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of logs, oldest first', schema: pageOf(witnessedLogSchema) } },
  }),
  addWitnessedLog: manageRoute({
    method: 'POST',
    path: '/manage/witness/logs',
    summary: 'Become a witness of a log, by its verifier key',
    description: 'A log that was removed continues with its previous state.',
    body: jsonBody(newWitnessedLogSchema),
    responses: { 201: { description: 'The log', schema: witnessedLogSchema } },
    problems: ['log_exists'],
  }),
  removeWitnessedLog: manageRoute({
    method: 'DELETE',
    path: '/manage/witness/logs/{+origin}',
    summary: 'Stop being a witness of a log',
    responses: { 204: { description: 'Its checkpoints are no longer cosigned' } },
    problems: ['not_found'],
  }),
  listWitnessRefusals: manageRoute({
    method: 'GET',
    path: '/manage/witness/refusals',
    summary: 'List the checkpoints that contradict what this node cosigned before',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of refused requests, newest first', schema: pageOf(witnessRefusalSchema) },
    },
  }),
};

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
  readAuthorities: manageRoute({
    method: 'GET',
    path: '/manage/timestamps',
    summary: 'Read the state of the timestamp authorities',
    responses: { 200: { description: 'The authorities of the settings', schema: authoritiesSchema } },
  }),
  requestTimestamps: manageRoute({
    method: 'POST',
    path: '/manage/timestamps',
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

/** Audits of the stored bytes, and the damage that was found. */
export const fixityRoutes = {
  listDamages: route({
    method: 'GET',
    path: '/api/damages',
    access: 'read',
    tag: 'Objects',
    summary: 'List all damage found in stored bytes, and whether it was repaired',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of damages, newest first', schema: pageOf(damageSchema) } },
  }),
  listDamagedFiles: route({
    method: 'GET',
    path: '/api/packs/{id}/damages',
    access: 'read',
    tag: 'Packs',
    summary: 'List the files of a pack that are damaged or missing now',
    description: 'Of a set: the files of all its parts.',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of files, in the order of their paths', schema: pageOf(damagedFileSchema) },
    },
    problems: ['not_found'],
  }),
  listAudits: manageRoute({
    method: 'GET',
    path: '/manage/audits',
    summary: 'List the audits of stored bytes',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of audits, newest first', schema: pageOf(auditSchema) } },
  }),
  listLostAndFound: manageRoute({
    method: 'GET',
    path: '/manage/lost-and-found',
    summary: 'List the files in `lost-and-found/`',
    description:
      'Blobs that no record refers to. An audit or a start of the node moved them there; nothing deletes them.',
    query: z.strictObject(listQuery),
    responses: { 200: { description: 'A page of files, by name', schema: pageOf(lostFileSchema) } },
  }),
  startAudit: manageRoute({
    method: 'POST',
    path: '/manage/audits',
    summary: 'Start an audit',
    description:
      'Checks the database and hashes every stored blob again. If an audit is already running, the response is about that one. With `wait=true` the response is sent when the audit has ended.',
    body: NO_BODY,
    ...jobOrResult('The job that runs the audit', 'The result of the audit', auditResultSchema),
  }),
};
