import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { integerParameter, listQuery, namedObject } from '../values/list.ts';
import { instantSchema, publicUrlSchema } from '../values/text.ts';

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

export const ledgerEntrySchema = namedObject('LedgerEntry', {
  seq: z.int().min(1),
  at: instantSchema,
  type: z.enum(ENTRY_TYPES),
  subject: z.string(),
  digest: digestSchema,
  prev: digestSchema,
  hash: digestSchema,
});
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

export const ledgerPageSchema = namedObject('LedgerPage', {
  items: z.array(ledgerEntrySchema),
  total: z.int(),
  limit: z.int(),
  from: z.int(),
  next: z.string().nullable(),
  head: ledgerHeadSchema,
});

export const entryTitleSchema = namedObject('EntryTitle', {
  seq: z.int().min(1),
  title: z.string().nullable().meta({ description: 'Null for a finding, a digest, a key or a peer.' }),
});
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

export const ledgerVerificationSchema = namedObject('LedgerVerification', {
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
});
export type LedgerVerification = z.output<typeof ledgerVerificationSchema>;

/**
 * What follows `tile/` in the address of a tile of the log (C2SP tlog-tiles): the level or `entries`, the index in groups
 * of three digits, all but the last after an `x`, and the width of a partial tile.
 */
export const TILE_PATH =
  /^(entries|[1-5]?\d|6[0-3])\/(?!x000)((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?$/;
export const tilePathSchema = z.string().regex(TILE_PATH);

export const base64Hash = z
  .string()
  .meta({ description: 'A SHA-256 hash in base64', contentEncoding: 'base64' });

export const proofQuery = z.strictObject({
  seq: integerParameter(1, Number.MAX_SAFE_INTEGER),
  size: integerParameter(1, Number.MAX_SAFE_INTEGER).optional(),
  format: z
    .string()
    .optional()
    .meta({ enum: ['json', 'tlog-proof'] }),
});

/** An audit path (RFC 6962, section 2.1.1); all hashes in base64. */
export const inclusionProofSchema = namedObject('InclusionProof', {
  /** The hash of the entry's leaf: SHA-256 of a zero byte and the entry's canonical JSON. */
  leaf: base64Hash,
  /** Counted from 0: entry `seq` is leaf `seq - 1`. */
  index: z.int().min(0),
  size: z.int().min(1),
  root: base64Hash,
  hashes: z.array(base64Hash),
});
export type InclusionProof = z.output<typeof inclusionProofSchema>;

export const consistencyQuery = z.strictObject({
  from: integerParameter(0, Number.MAX_SAFE_INTEGER),
  to: integerParameter(0, Number.MAX_SAFE_INTEGER).optional(),
});

/** A consistency proof (RFC 6962, section 2.1.2); all hashes in base64. */
export const consistencyProofSchema = namedObject('ConsistencyProof', {
  from: z.int().min(0),
  size: z.int().min(0),
  from_root: base64Hash,
  root: base64Hash,
  hashes: z.array(base64Hash),
});
export type ConsistencyProof = z.output<typeof consistencyProofSchema>;

const verifierKey = z
  .string()
  .meta({ description: 'A verifier key as C2SP signed-note writes it: name+hash+key' });

/** A head of the ledger, as far as it is known: of a lost one there may be only a checkpoint, which has no hash. */
const knownHead = z.strictObject({
  seq: z.int().min(0).nullable(),
  hash: digestSchema.nullable(),
  root: digestSchema.nullable(),
});
export type KnownHead = z.output<typeof knownHead>;

/** What `key.renewed` records. */
export const keyRenewalSchema = z.strictObject({
  at: instantSchema,
  old_key: verifierKey,
  new_key: verifierKey,
  /** By the old key over the text of the renewal, in base64; null where the old key was lost. */
  signature: z.string().nullable(),
});
export type KeyRenewal = z.output<typeof keyRenewalSchema>;

/** What `ledger.rolled_back` records. */
export const rollbackSchema = z.strictObject({
  at: instantSchema,
  /** How far the ledger went before. */
  from: knownHead,
  /** Where the database ended that was gone on with. */
  to: knownHead,
  old_key: verifierKey.nullable(),
  new_key: verifierKey,
});
export type Rollback = z.output<typeof rollbackSchema>;

export const keyChangeSchema = z
  .discriminatedUnion('type', [
    keyRenewalSchema.extend({ type: z.literal('key.renewed'), ledger_entry: z.int().min(1) }),
    rollbackSchema.extend({ type: z.literal('ledger.rolled_back'), ledger_entry: z.int().min(1) }),
  ])
  .meta({ id: 'KeyChange' });
export type KeyChange = z.output<typeof keyChangeSchema>;

/**
 * The text that the old key signs when a node's key is renewed. Its second line is no number, so that no checkpoint is
 * this text.
 */
export function renewalText(oldKey: string, newKey: string): string {
  return `strongroom.key.renewed\n${oldKey}\n${newKey}\n`;
}

/** What `key.certified` records: a key by which the node signs packages. Its subject is the public key. */
export function certifiedKeyRecord(publicKey: string) {
  return { algorithm: 'ECDSA P-384', public_key: publicKey, use: 'wacz' };
}

/**
 * Undoes what editors and mail programs do to a saved checkpoint: a byte order mark, CR LF, a missing last line feed. The
 * signature shows whether anything else changed.
 */
export function withPlainLineEnds(text: string): string {
  const plain = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  return plain.endsWith('\n') ? plain : `${plain}\n`;
}

/** A timestamp of a checkpoint by an RFC 3161 authority. It covers entries 1 to `size`. */
export const timestampSchema = namedObject('Timestamp', {
  id: z.string(),
  /** The URL of the authority. */
  authority: z.string(),
  /** The time by the authority's clock. */
  at: instantSchema,
  size: z.int().min(0),
  /** The root of the tree over these entries, in hex. */
  root: digestSchema,
  /** The authority's number for it: `0x` and hex digits. */
  serial: z.string(),
});
export type Timestamp = z.output<typeof timestampSchema>;

/** An authority that gave no valid timestamp, and why. */
const failedAuthoritySchema = z.strictObject({ authority: z.string(), error: z.string() });
export type FailedAuthority = z.output<typeof failedAuthoritySchema>;

/** The result of asking all authorities; at least one of them answered. */
export const stampingSchema = z
  .strictObject({ items: z.array(timestampSchema), failed: z.array(failedAuthoritySchema) })
  .meta({ id: 'Stamping' });
export type Stamping = z.output<typeof stampingSchema>;

/** What the owner sees of an authority in the settings. */
const authorityStateSchema = namedObject('AuthorityState', {
  authority: z.string(),
  /** When it was last asked since the node started; null if it was not. */
  attempted_at: instantSchema.nullable(),
  /** Why it returned no timestamp then; null if it returned one. */
  error: z.string().nullable(),
  /** When its last timestamp arrived; null if there is none. */
  stamped_at: instantSchema.nullable(),
  /** How many entries that timestamp covers. */
  size: z.int().min(0),
});
export type AuthorityState = z.output<typeof authorityStateSchema>;

export const authoritiesSchema = z
  .strictObject({ authorities: z.array(authorityStateSchema) })
  .meta({ id: 'Authorities' });

/** A verifier key: `name+hash+key` (C2SP signed-note). The key is its type and 32 bytes. */
const KEY = /^[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/;
const verifierKeySchema = z.string().regex(KEY, 'Enter a verifier key: name+hash+key.');

/** A witness that cosigns this node's checkpoints. */
export const witnessSchema = namedObject('Witness', {
  url: publicUrlSchema.meta({
    description: 'The prefix: requests go to `<url>/add-checkpoint`. For a node, its own address will do.',
  }),
  key: verifierKeySchema,
});
export type Witness = z.output<typeof witnessSchema>;

/** What a witness of the settings cosigned. */
const witnessStateSchema = namedObject('WitnessState', {
  url: z.string(),
  key: z.string(),
  /** The number of entries in the newest checkpoint that it cosigned; 0 if there is none. */
  size: z.int().min(0),
  /** When it cosigned that, by its own clock. */
  cosigned_at: instantSchema.nullable(),
  /** Why it did not cosign when it was last asked; null if it did or was not asked. */
  error: z.string().nullable(),
});
export type WitnessState = z.output<typeof witnessStateSchema>;

export const witnessStatesSchema = namedObject('WitnessStates', {
  /** The number of entries in the ledger. */
  size: z.int().min(0),
  witnesses: z.array(witnessStateSchema),
});
export type WitnessStates = z.output<typeof witnessStatesSchema>;

export const newWitnessedLogSchema = z
  .strictObject({ key: verifierKeySchema })
  .meta({ id: 'NewWitnessedLog' });

/** A log whose checkpoints this node cosigns. */
export const witnessedLogSchema = namedObject('WitnessedLog', {
  origin: z.string(),
  key: z.string(),
  added_at: instantSchema,
  size: z.int().min(0),
  /** In hex; null before the first checkpoint. */
  root: digestSchema.nullable(),
  cosigned_at: instantSchema.nullable(),
});
export type WitnessedLog = z.output<typeof witnessedLogSchema>;

/** A checkpoint that a log signed and this node did not cosign, because it contradicts what was cosigned before. */
export const witnessRefusalSchema = namedObject('WitnessRefusal', {
  id: z.int(),
  origin: z.string(),
  at: instantSchema,
  /** The size of the checkpoint that was cosigned before, and the whole of it. */
  known_size: z.int().min(0),
  known_note: z.string().nullable(),
  size: z.int().min(0),
  /**
   * Whether this proves that the log has two histories: both checkpoints are of one size, and their roots differ.
   * If false, the consistency proof was invalid. The sender may have altered it.
   */
  is_proof: z.boolean(),
  /** The request as it was sent. */
  request: z.string(),
});
export type WitnessRefusal = z.output<typeof witnessRefusalSchema>;
