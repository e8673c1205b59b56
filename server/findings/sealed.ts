import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  ADD_EARLIER_KEY,
  type Finding,
  type FindingTarget,
  type NewFinding,
  type RecordedFinding,
  recordedFindingSchema,
  type SealedFinding,
  type SealedFindingsQuery,
  saltSchema,
} from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import type { Slice } from '../../shared/values/list.ts';
import { appendEntry, archiveReadOnly, isReadOnly } from '../ledger/appendEntry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  change,
  countRows,
  inserts,
  page,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  where,
} from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { OWNER, type Reader } from '../withholding/withholding.ts';
import { findingById, insertFinding, recordOfFinding, TARGET_NAME, targetText } from './findingRows.ts';
import { findingDigest, requireAddable, selectionOf, unreadableQuote } from './findings.ts';
import { type FindsPassages, withPlace } from './passageAnchors.ts';

/*
 * A sealed finding stands apart from the findings, so that nothing that reads findings shows it. Its entry in the ledger
 * has the id, the time and, as its digest, the commitment. Once revealed, it is a finding like any other, under the entry
 * of its revelation.
 *
 * | Type             | Subject        | Digest                                                         |
 * |------------------|----------------|----------------------------------------------------------------|
 * | finding.sealed   | the finding id | SHA-256(the 32 bytes of the salt, the record's canonical JSON) |
 * | finding.revealed | the finding id | that of the record, as of `finding.added`                      |
 */

/** Encryption to the owner's key. Results are base64. */
export interface OwnerEncryption {
  encrypt: (text: string) => Promise<string>;
  /** Returns the text of each; undefined if it is not encrypted to the key, or if there is no key. */
  decrypt: (encrypted: readonly string[]) => Promise<(string | undefined)[]>;
}

/** What is encrypted has a multiple of this length, so that it does not tell the length of the text. */
const PADDED_BYTES = 4_096;
const SALT_BYTES = 32;

/** Returns the commitment to a record. @param salt in hex @param record its canonical JSON */
export function commitmentTo(salt: string, record: string): string {
  return createHash('sha256').update(Buffer.from(salt, 'hex')).update(record).digest('hex');
}

/** Seals a finding: only a commitment to it is published. @throws Problem like `addFinding` */
export async function sealFinding(
  store: Store,
  added: NewFinding,
  { passages, encryption }: { passages: Pick<FindsPassages, 'place'>; encryption: OwnerEncryption },
): Promise<SealedFinding> {
  // Before a key is made to encrypt to.
  if (isReadOnly(store.read)) throw archiveReadOnly();
  requireAddable(store.read, added);
  const placed = await withPlace(store.read, added, passages);
  const id = `fi_${store.randomHex(20)}`;
  const at = store.instant();
  const record = canonicalText(recordOfFinding({ ...placed, id, at, withdrawal: null }));
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const encrypted = await encryption.encrypt(padded(`{"record":${record},"salt":"${salt}"}`));
  return store.write((database) => {
    requireAddable(database, placed);
    const digest = commitmentTo(salt, record);
    const { seq } = appendEntry(database, { type: 'finding.sealed', subject: id, digest, at });
    insertSealed(database, { ledger_entry: seq, id, encrypted });
    insertText(database, { ledger_entry: seq, salt, record });
    return sealedOf(database, requireSealed(database, id), OWNER);
  });
}

function padded(text: string): string {
  const bytes = Buffer.byteLength(text);
  return text + ' '.repeat(Math.ceil(bytes / PADDED_BYTES) * PADDED_BYTES - bytes);
}

/** Publishes the record and the salt of a sealed finding. @throws Problem */
export async function revealFinding(store: Store, id: string): Promise<Finding> {
  return store.write((database) => {
    const { ledger_entry: sealed_entry, commitment, salt, record } = requireSealed(database, id);
    if (salt === null || record === null)
      throw new Problem(
        'sealed_unreadable',
        `The record of ${id} is encrypted to a key that is not here. ${ADD_EARLIER_KEY}`,
      );
    if (commitmentTo(salt, record) !== commitment)
      throw new Problem(
        'sealed_unreadable',
        `The record of ${id} in this database was altered: it is not what was sealed. Restore it from a dump or a copy.`,
      );
    const recorded = JSON.parse(record) as RecordedFinding;
    const { seq } = appendEntry(database, {
      type: 'finding.revealed',
      subject: id,
      digest: findingDigest(recorded),
      at: store.instant(),
    });
    insertRevealed(database, { ...recorded, ledger_entry: seq, sealed_entry, salt });
    removeText(database, sealed_entry);
    return findingById(database, id) as Finding;
  });
}

interface SealedRow {
  ledger_entry: number;
  id: string;
  encrypted: string;
}

export const insertSealed = inserts<SealedRow>('sealed_findings', 'ledger_entry, id, encrypted');

const insertText = inserts<{ ledger_entry: number; salt: string; record: string }>(
  'sealed_texts',
  'ledger_entry, salt, record',
);

const removeText = change<[sealedEntry: number]>('DELETE FROM sealed_texts WHERE ledger_entry = ?');

/** A finding that was revealed, with its salt and the entry that sealed it. */
type RevealedFinding = RecordedFinding & { ledger_entry: number; sealed_entry: number; salt: string };

export function insertRevealed(database: WriteDatabase, revealed: RevealedFinding): void {
  const { ledger_entry, sealed_entry, salt, target } = revealed;
  const recorded = { ...recordOfFinding(revealed), ledger_entry };
  insertFinding(database, recorded, targetText(database, target) ?? target.id);
  insertReveal(database, { ledger_entry, sealed_entry, salt });
}

const insertReveal = inserts<Pick<RevealedFinding, 'ledger_entry' | 'sealed_entry' | 'salt'>>(
  'revealed_findings',
  'ledger_entry, sealed_entry, salt',
);

/** Returns the number of the entry that sealed a finding; undefined if it never was. */
export const sealedEntryOf = selectValue<number, [id: string]>(
  'SELECT ledger_entry FROM sealed_findings WHERE id = ?',
);

/** A finding that is sealed, with its record if it can be read here. */
interface StoredSealed {
  id: string;
  ledger_entry: number;
  at: string;
  commitment: string;
  salt: string | null;
  record: string | null;
  target_name: string | null;
}

const SEALED = `sealed_findings s JOIN ledger l ON l.seq = s.ledger_entry
  LEFT JOIN sealed_texts f ON f.ledger_entry = s.ledger_entry`;
const NOT_REVEALED = 'NOT EXISTS (SELECT 1 FROM revealed_findings r WHERE r.sealed_entry = s.ledger_entry)';
const SEALED_COLUMNS = `s.id, s.ledger_entry, l.at, l.digest AS commitment, f.salt, f.record, ${TARGET_NAME}`;

const sealedById = selectOne<StoredSealed, [id: string]>(
  `SELECT ${SEALED_COLUMNS} FROM ${SEALED} WHERE s.id = ? AND ${NOT_REVEALED}`,
);

/** @throws Problem `not_found`, `finding_not_sealed` */
function requireSealed(database: ReadDatabase, id: string): StoredSealed {
  const sealed = sealedById(database, id);
  if (sealed) return sealed;
  if (findingById(database, id)) throw new Problem('finding_not_sealed', `${id} is public already.`);
  throw new Problem('not_found', `There is no finding ${id}.`);
}

/** Returns what a reader may know of a sealed finding. */
function sealedOf(read: ReadDatabase, row: StoredSealed, reader: Reader): SealedFinding {
  const { id, ledger_entry, at, commitment, record, target_name } = row;
  const known = { id, ledger_entry, sealed: { at, commitment, salt: null, record: null } };
  if (!reader.owner || record === null) return known;
  const finding = JSON.parse(record) as RecordedFinding;
  const { target, text, tags } = finding;
  const passage = unreadableQuote(read, finding, reader) ? null : finding.passage;
  return { ...known, target, target_name: target_name ?? target.id, text, tags, passage };
}

/** Returns a finding that is sealed, or undefined. */
export function readSealedFinding(
  { read }: Pick<Store, 'read'>,
  id: string,
  reader: Reader,
): SealedFinding | undefined {
  const row = sealedById(read, id);
  return row && sealedOf(read, row, reader);
}

/**
 * Returns a page of the findings that are sealed, newest first. Only the owner can ask for those about something.
 *
 * @throws Problem `invalid_parameter`
 */
export function listSealedFindings(
  { read }: Pick<Store, 'read'>,
  query: SealedFindingsQuery,
  reader: Reader,
): Slice<SealedFinding> {
  const { target } = selectionOf({ ...query, state: 'all' }, reader);
  const { where: conditions, values } = where(
    [NOT_REVEALED],
    target !== undefined && (reader.owner ? isAbout(target) : ['FALSE']),
  );
  const from = `${SEALED} ${conditions}`;
  const listing = { columns: SEALED_COLUMNS, from, values, order: 's.ledger_entry DESC' };
  const { items, total } = page<StoredSealed>(read, listing, query);
  return { items: items.map((row) => sealedOf(read, row, reader)), total };
}

function isAbout({ kind, id }: FindingTarget): [condition: string, ...values: unknown[]] {
  return [
    "((f.target_kind = ? AND f.target_id = ?) OR (? = 'object' AND f.passage_sha256 = ?))",
    kind,
    id,
    kind,
    id,
  ];
}

const UNREADABLE = `sealed_findings s WHERE ${NOT_REVEALED}
  AND NOT EXISTS (SELECT 1 FROM sealed_texts f WHERE f.ledger_entry = s.ledger_entry)`;

/** Returns how many sealed findings have a record that cannot be read here. */
export const countUnreadable = countRows(UNREADABLE);

const encryptedAfter = selectAll<SealedRow, [after: number, limit: number]>(`
  SELECT s.ledger_entry, s.id, s.encrypted FROM ${UNREADABLE} AND s.ledger_entry > ?
  ORDER BY s.ledger_entry LIMIT ?`);

const DECRYPTED_AT_ONCE = 100;

/**
 * Reads the records of sealed findings that the archive has only encrypted, as after a restore. Returns how many cannot be
 * read: without the owner's key, all of them stay sealed.
 */
export async function readEncrypted(
  { read, write }: Pick<Store, 'read' | 'write'>,
  decrypt: OwnerEncryption['decrypt'],
): Promise<number> {
  for (let after = 0; ; ) {
    const rows = encryptedAfter(read, after, DECRYPTED_AT_ONCE);
    const last = rows.at(-1);
    if (last === undefined) return countUnreadable(read);
    after = last.ledger_entry;
    const texts = await decrypt(rows.map(({ encrypted }) => encrypted));
    await write((database) => {
      for (const [index, { ledger_entry, id }] of rows.entries()) {
        const opened = openedText(texts[index]);
        const sealed = sealedById(database, id);
        if (!opened || sealed?.salt !== null) continue;
        if (commitmentTo(opened.salt, opened.record) === sealed.commitment)
          insertText(database, { ledger_entry, ...opened });
      }
    });
  }
}

function openedText(text: string | undefined): { salt: string; record: string } | undefined {
  if (text === undefined) return undefined;
  // Whoever knows the recipient can encrypt to it, so it may be anything.
  const opened = openedSchema.safeParse(parsed(text));
  return opened.success ? { salt: opened.data.salt, record: canonicalText(opened.data.record) } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so not what a node encrypted.
    return undefined;
  }
}

const openedSchema = z.strictObject({ salt: saltSchema, record: recordedFindingSchema });

interface SealedSubject {
  seq: number;
  id: string;
  subject: string;
  commitment: string;
  salt: string | null;
  record: string | null;
  revealed_salt: string | null;
}

const sealedSubjects = selectEach<SealedSubject>(`
  SELECT s.ledger_entry AS seq, s.id, l.subject, l.digest AS commitment, f.salt, f.record, r.salt AS revealed_salt
  FROM ${SEALED} LEFT JOIN revealed_findings r ON r.sealed_entry = s.ledger_entry ORDER BY s.ledger_entry`);

/**
 * Recomputes the commitments to sealed findings, for the verification of the ledger: from what was revealed, or from the
 * record in the owner's database. Where neither can be read, only the entry is there to check.
 */
export const SEALED_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['finding.sealed'],
    *digests(database) {
      for (const row of sealedSubjects(database)) {
        const { seq, id, subject } = row;
        const digest = digestOf(database, row);
        if (digest === null || id !== subject)
          yield { seq, problem: 'missing_subject', subject, expected: row.commitment, actual: null };
        yield { seq, digest: digest ?? row.commitment };
      }
    },
  },
];

/** The commitment by what is stored; null if it was revealed and something of that is missing. */
function digestOf(database: ReadDatabase, row: SealedSubject): string | null {
  const { id, commitment, salt, record, revealed_salt } = row;
  const revealed = findingById(database, id);
  if (revealed || revealed_salt !== null)
    return revealed && revealed_salt !== null
      ? commitmentTo(revealed_salt, canonicalText(recordOfFinding(revealed)))
      : null;
  return salt !== null && record !== null ? commitmentTo(salt, record) : commitment;
}
