import pLimit from 'p-limit';
import {
  type NewFlag,
  type PackFile,
  type PackRecord,
  packRecordSchema,
  packUploadRecordSchema,
  tagOf,
} from '../../../shared/archive/pack.ts';
import { setOfPart } from '../../../shared/archive/set.ts';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../../shared/limits.ts';
import type { RecordedDeposit } from '../../../shared/node/deposit.ts';
import { Problem, type ProblemCode, type ProblemExtra } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { checkBody, parseJsonBytes } from '../../../shared/values/checkBody.ts';
import { ID_DIGITS } from '../../../shared/values/digest.ts';
import { jsonPointer } from '../../../shared/values/issueMessage.ts';
import { foldedText } from '../../../shared/values/text.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { runWorker } from '../../runtime/runWorker.ts';
import { workerUrl } from '../../runtime/workerUrl.ts';
import { insertPackDeposit, packDepositAt } from '../../store/sqlite/archive/deposits.ts';
import {
  addPackFilter,
  indexPackText,
  type PackFilter,
  removePackFilter,
} from '../../store/sqlite/archive/packLists.ts';
import {
  countReplication,
  type FlagRow,
  insertFlag,
  insertPack,
  insertPackFile,
  insertPackRecord,
  packById,
  recordTexts,
} from '../../store/sqlite/archive/packs.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { depositDigest, flagDigest } from '../recordedSubjects.ts';
import { requirePack } from './readPack.ts';

/** Inserts the rows of a pack with the ledger entry `seq`. `original_had_method` is the state of the original pack now. */
export function insertPackRows(
  database: WriteDatabase,
  checked: CheckedRecord,
  seq: number,
  at: string,
): void {
  const { record, text, digest, id } = checked;
  const original = record.replicates && packById(database, record.replicates.pack);
  insertPack(database, {
    ledger_entry: seq,
    id,
    digest,
    title_key: foldedText(record.title),
    outcome: record.outcome,
    tag: tagOf(record),
    study: record.study,
    replicates: record.replicates?.pack ?? null,
    verdict: record.replicates?.verdict ?? null,
    original_had_method: original ? (original.tag === 'replicable' ? 1 : 0) : null,
    supersedes: record.supersedes,
    part_of: setOfPart(record) ?? null,
    bytes: checked.bytes,
    files: record.files.length,
    record_bytes: Buffer.byteLength(text),
  });
  insertPackRecord(database, seq, text);
  insertFiles(database, seq, record.files, at);
  if (record.replicates) countReplication(database, record.replicates.pack);
  indexPack(database, seq, digest, record);
}

function insertFiles(database: WriteDatabase, pack: number, files: readonly PackFile[], at: string): void {
  for (const file of files) {
    createBlobRowIfAbsent(database, { sha256: file.sha256, bytes: file.bytes, stored_at: at });
    insertPackFile(database, pack, file);
  }
}

/** Adds a pack to the full-text index and to the filters of lists. */
function indexPack(database: WriteDatabase, pack: number, digest: string, record: PackRecord): void {
  for (const filter of filtersOf(record)) addPackFilter(database, pack, filter);
  indexPackText(database, pack, {
    title: record.title,
    summary: record.summary,
    authors: record.authors
      .map(({ name, orcid, affiliation }) => `${name} ${orcid ?? ''} ${affiliation}`)
      .join('\n'),
    keywords: record.keywords.join('\n'),
    method: record.method?.text ?? '',
    results: Object.keys(record.results).join('\n'),
    // The id is a prefix of this text, so a prefix of the id or of the digest finds the pack.
    identity: `pk_${digest}`,
  });
}

/** Takes a pack that became a part of a set out of its subject and its study. */
export function removeFromSubjects(database: WriteDatabase, pack: number): void {
  for (const { record } of recordTexts(database, [pack]))
    for (const filter of filtersOf(JSON.parse(record) as PackRecord))
      if (filter.filter === 'node' || filter.filter === 'study') removePackFilter(database, pack, filter);
}

function filtersOf(record: PackRecord): PackFilter[] {
  const { outcome, license, study, replicates, authors, keywords, node } = record;
  const filters: PackFilter[] = [
    { filter: 'outcome', value: outcome },
    { filter: 'license', value: license },
    { filter: 'tag', value: tagOf(record) },
    { filter: 'flagged', value: 'false' },
  ];
  if (study !== null) filters.push({ filter: 'study', value: study });
  if (replicates !== null) {
    filters.push({ filter: 'verdict', value: replicates.verdict });
    filters.push({ filter: 'replicates', value: replicates.pack });
  }
  for (const path of node === null ? [] : pathPrefixes(node)) filters.push({ filter: 'node', value: path });
  for (const { name, orcid } of authors) {
    for (const value of authorValues(name, orcid)) filters.push({ filter: 'author', value });
  }
  for (const keyword of keywords) filters.push({ filter: 'keyword', value: foldedText(keyword) });
  return filters;
}

/** Returns `a`, `a/b` and `a/b/c` for `a/b/c`. */
export function pathPrefixes(path: string): string[] {
  const segments = path.split('/');
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'));
}

/** An author can be found by the full name, by any word of it, and by ORCID iD. */
function authorValues(name: string, orcid: string | null): string[] {
  const fullName = foldedText(name);
  return [
    fullName,
    ...fullName.split(/[^\p{L}\p{N}'’-]+/u).filter(Boolean),
    ...(orcid === null ? [] : [foldedText(orcid)]),
  ];
}

/** Adds a flag to a pack. Flags are public and permanent. @throws Problem `not_found` */
export async function flagPack(store: Store, id: string, { reason, note }: NewFlag): Promise<void> {
  const { ledger_entry: pack } = requirePack(store.read, id);
  await store.write((database) => {
    const flag = { pack: id, reason, note, at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'pack.flagged',
      subject: id,
      digest: flagDigest(flag),
      at: flag.at,
    });
    insertFlagRows(database, pack, { ...flag, ledger_entry: seq });
  });
}

/** Writes the rows of a flag on the pack whose ledger entry is `pack`. */
export function insertFlagRows(
  database: WriteDatabase,
  pack: number,
  flag: FlagRow & { ledger_entry: number },
): void {
  insertFlag(database, flag);
  removePackFilter(database, pack, { filter: 'flagged', value: 'false' });
  addPackFilter(database, pack, { filter: 'flagged', value: 'true' });
}

/** Where packs were published. It is public. */
export { packDepositsPage as listPackDeposits } from '../../store/sqlite/archive/deposits.ts';

/**
 * Records where a pack was published, inside the caller's transaction. What is recorded of this pack and this address
 * stays as it is.
 *
 * @param now the time of the entry
 * @returns the number of the entry, and whether it is new
 * @throws Problem `archive_read_only`
 */
export function recordDeposit(
  database: WriteDatabase,
  deposit: RecordedDeposit,
  now: string,
): { entry: number; isNew: boolean } {
  const known = packDepositAt(database, deposit.pack, deposit.url);
  if (known !== undefined) return { entry: known, isNew: false };
  const { seq } = appendEntry(database, {
    type: 'pack.deposited',
    subject: deposit.pack,
    digest: depositDigest(deposit),
    at: now,
  });
  insertPackDeposit(database, { ledger_entry: seq, ...deposit });
  return { entry: seq, isNew: true };
}

/** A record that passed all checks that do not need the archive, with its derived values, as plain data. */
interface RecordData {
  record: PackRecord;
  /** The canonical text (RFC 8785), which is stored. The fingerprint is its SHA-256. */
  text: string;
  digest: string;
  id: string;
  /** The total size of all files. */
  bytes: number;
  /** The position of each file in the record as sent. (In `record` the files are sorted.) */
  positions: ReadonlyMap<string, number>;
}

export interface CheckedRecord extends RecordData {
  /** Returns the JSON Pointer to a field of a file in the record as sent. */
  pointerTo: (path: string, field: string) => string;
}

/**
 * Checks a record, fills in defaults and computes its fingerprint.
 *
 * @throws Problem 422 with a pointer to each invalid field; `body_too_large`, `pack_too_large`.
 */
export function checkRecord(sent: unknown): CheckedRecord {
  return withPointers(recordData(sent));
}

/** Checks a record like `checkRecord`. A thread can return the result. */
function recordData(sent: unknown): RecordData {
  const record = checkBody(packRecordSchema, sent);
  const text = canonicalText(record);
  // Defaults count too, so that the record in an exported pack file can be uploaded again.
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw recordTooLarge();
  const digest = sha256Of(text);
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > MAX_PACK_BYTES) throw packTooLarge();
  const positions = new Map(sentPaths(sent).map((path, index) => [path, index] as const));
  return { record, text, digest, id: packIdOf(digest), bytes, positions };
}

function withPointers(data: RecordData): CheckedRecord {
  return {
    ...data,
    pointerTo: (path, field) => jsonPointer(['files', data.positions.get(path) ?? '-', field]),
  };
}

/** Returns the id of the pack with this fingerprint. */
export function packIdOf(digest: string): string {
  return `pk_${digest.slice(0, ID_DIGITS)}`;
}

export function packTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `The files of a pack can have at most ${MAX_PACK_BYTES} bytes in total. Remove some, or split them into two packs.`,
  );
}

export function recordTooLarge(): Problem {
  return new Problem('body_too_large', `A record can have at most ${MAX_RECORD_BYTES} bytes.`);
}

/** Returns the paths in the order in which they were sent. The schema has checked their types. */
function sentPaths(sent: unknown): string[] {
  const { files = [] } = sent as { files?: { path: string }[] };
  return files.map(({ path }) => path);
}

/** Returns whether a value is a record that omits `files`. */
export function omitsFiles(record: unknown): record is object {
  return typeof record === 'object' && record !== null && !Object.hasOwn(record, 'files');
}

export interface RecordInput {
  /** The record as JSON. */
  bytes: Uint8Array;
  /** The files of a record that omits them, if they are known. */
  files: readonly PackFile[] | undefined;
}

type RecordOutcome =
  | { data: RecordData | undefined }
  | { problem: { code: ProblemCode; message: string; extra: Pick<ProblemExtra, 'errors'> } };

/** A smaller record is checked in a few milliseconds. Starting a thread takes longer. */
const SMALL_BYTES = 65_536;
/** A thread needs the more memory the larger its record is. */
const threads = pLimit(2);

/**
 * Parses and checks a record. The largest records take a second, because of the paths of their files, so all but small
 * ones are checked in a thread.
 *
 * @param files the files of a record that omits them. Without them, only the rest of such a record is checked.
 * @returns the record, or undefined if its files are missing
 * @throws Problem like `parseJsonBytes` and `checkRecord`
 */
export function checkInThread(bytes: Uint8Array, files: readonly PackFile[]): Promise<CheckedRecord>;
export function checkInThread(bytes: Uint8Array): Promise<CheckedRecord | undefined>;
export async function checkInThread(
  bytes: Uint8Array,
  files?: readonly PackFile[],
): Promise<CheckedRecord | undefined> {
  const input: RecordInput = { bytes, files };
  const outcome =
    sizeOf(input) > SMALL_BYTES
      ? await threads(() => runWorker<RecordOutcome>(workerUrl('checkRecord', import.meta.url), input))
      : checkRecordBytes(input);
  if ('data' in outcome) return outcome.data && withPointers(outcome.data);
  const { code, message, extra } = outcome.problem;
  throw new Problem(code, message, extra);
}

/** Does the work of `checkInThread` in the thread that calls it. */
export function checkRecordBytes({ bytes, files }: RecordInput): RecordOutcome {
  try {
    const sent = parseJsonBytes(bytes);
    if (!omitsFiles(sent)) return { data: recordData(sent) };
    if (files) return { data: recordData({ ...sent, files }) };
    checkBody(packUploadRecordSchema, sent);
    return { data: undefined };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { problem: { code: error.code, message: error.message, extra: { errors: error.extra.errors } } };
  }
}

/** Returns about how many bytes the record has with these files. */
function sizeOf({ bytes, files = [] }: RecordInput): number {
  return files.reduce((size, { path }) => size + 150 + path.length, bytes.length);
}
