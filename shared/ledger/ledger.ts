import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { integerParameter, listQuery } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** What the ledger records, by the words of the contract. */
export const ENTRY_TYPES = [
  'node.created',
  'study.created',
  'study.status',
  'pack.added',
  'pack.flagged',
  'comment.added',
  'source.added',
  'source.changed',
  'event.recorded',
  'retrievals.recorded',
  'page.captured',
  'page.handed_in',
  'object.damaged',
  'object.restored',
  'object.withheld',
  'object.shown',
  'object.released',
  'key.renewed',
  'key.certified',
  'ledger.rolled_back',
  'peer.rewritten',
  'finding.added',
  'finding.withdrawn',
  'finding.sealed',
  'finding.revealed',
  'observation.signed',
  'pack.deposited',
] as const;
export type EntryType = (typeof ENTRY_TYPES)[number];

/** `prev` of the first entry, and the head's hash of an empty ledger. */
export const NO_HASH = '0'.repeat(64);

export const ledgerEntrySchema = z
  .strictObject({
    seq: z.int().min(1),
    at: instantSchema,
    type: z.enum(ENTRY_TYPES),
    subject: z.string(),
    digest: digestSchema,
    prev: digestSchema,
    hash: digestSchema,
  })
  .meta({ id: 'LedgerEntry' });
export type LedgerEntry = z.output<typeof ledgerEntrySchema>;

const ledgerHeadSchema = z.strictObject({
  seq: z.int().min(0),
  hash: digestSchema,
  /** Root of the RFC 6962 tree over all entries, in hex. */
  root: digestSchema,
});
export type LedgerHead = z.output<typeof ledgerHeadSchema>;

export const ledgerQuery = z.strictObject({
  limit: listQuery.limit,
  from: integerParameter(1, Number.MAX_SAFE_INTEGER).default(1),
});

export const ledgerPageSchema = z
  .strictObject({
    items: z.array(ledgerEntrySchema),
    total: z.int(),
    limit: z.int(),
    from: z.int(),
    next: z.string().nullable(),
    head: ledgerHeadSchema,
  })
  .meta({ id: 'LedgerPage' });

export const entryTitleSchema = z
  .strictObject({
    seq: z.int().min(1),
    title: z.string().nullable().meta({ description: 'Null for a finding, a digest, a key or a peer.' }),
  })
  .meta({ id: 'EntryTitle' });
export type EntryTitle = z.output<typeof entryTitleSchema>;

const ledgerProblemSchema = z.strictObject({
  /** The entry; 0 where there is none that it could be said of. */
  seq: z.int(),
  /** What it is about, where that is known: the entry's subject, or `retrieval 17` for one of those that it covers. */
  subject: z.string().nullable(),
  problem: z.enum([
    'missing_entry',
    'wrong_prev',
    'wrong_hash',
    'wrong_digest',
    'missing_subject',
    'wrong_root',
    /** A stored timestamp does not hold; `actual` says why. */
    'wrong_timestamp',
    /** The database cannot be read on from there; `actual` is what SQLite says. */
    'database_damaged',
  ]),
  expected: z.string().nullable(),
  actual: z.string().nullable(),
});
export type LedgerProblem = z.output<typeof ledgerProblemSchema>;

export const ledgerVerificationSchema = z
  .strictObject({
    ok: z.boolean(),
    size: z.int(),
    head: digestSchema,
    root: digestSchema,
    checked_at: instantSchema,
    duration_ms: z.number(),
    /** At most the first thousand. */
    problems: z.array(ledgerProblemSchema),
    sealed: z.int().meta({
      description:
        'How many sealed findings have a record that this archive cannot read: of them only the commitment is there to check.',
    }),
  })
  .meta({ id: 'LedgerVerification' });
export type LedgerVerification = z.output<typeof ledgerVerificationSchema>;

/**
 * What follows `tile/` in the address of a tile of the log (C2SP tlog-tiles): the level or `entries`, the index in groups
 * of three digits, all but the last after an `x`, and the width of a partial tile.
 */
export const TILE_PATH =
  /^(entries|[1-5]?\d|6[0-3])\/(?!x000)((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?$/;
export const tilePathSchema = z.string().regex(TILE_PATH);

const base64Hash = z.string().meta({ description: 'A SHA-256 hash in base64', contentEncoding: 'base64' });

export const proofQuery = z.strictObject({
  seq: integerParameter(1, Number.MAX_SAFE_INTEGER),
  size: integerParameter(1, Number.MAX_SAFE_INTEGER).optional(),
  format: z
    .string()
    .optional()
    .meta({ enum: ['json', 'tlog-proof'] }),
});

/** An audit path (RFC 6962, section 2.1.1); all hashes in base64. */
export const inclusionProofSchema = z
  .strictObject({
    /** The hash of the entry's leaf: SHA-256 of a zero byte and the entry's canonical JSON. */
    leaf: base64Hash,
    /** Counted from 0: entry `seq` is leaf `seq - 1`. */
    index: z.int().min(0),
    size: z.int().min(1),
    root: base64Hash,
    hashes: z.array(base64Hash),
  })
  .meta({ id: 'InclusionProof' });
export type InclusionProof = z.output<typeof inclusionProofSchema>;

export const consistencyQuery = z.strictObject({
  from: integerParameter(0, Number.MAX_SAFE_INTEGER),
  to: integerParameter(0, Number.MAX_SAFE_INTEGER).optional(),
});

/** A consistency proof (RFC 6962, section 2.1.2); all hashes in base64. */
export const consistencyProofSchema = z
  .strictObject({
    from: z.int().min(0),
    size: z.int().min(0),
    from_root: base64Hash,
    root: base64Hash,
    hashes: z.array(base64Hash),
  })
  .meta({ id: 'ConsistencyProof' });
export type ConsistencyProof = z.output<typeof consistencyProofSchema>;
