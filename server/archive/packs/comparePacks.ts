import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import {
  type Pack,
  type PackFile,
  type PackRecord,
  type PackVerification,
  packRecordSchema,
} from '../../../shared/archive/pack.ts';
import type {
  ChangedField,
  ComparedFile,
  ComparedPack,
  FileChange,
  PackComparison,
} from '../../../shared/archive/packComparison.ts';
import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { confirmDamage } from '../../fixity/audit.ts';
import { rehashForReader } from '../../hashing/hashFiles.ts';
import { hashOf, sha256Of } from '../../ledger/entry.ts';
import { type PackRow, recordTexts } from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { entryAt } from '../../store/sqlite/node/ledger.ts';
import { releasedAmong } from '../../store/sqlite/node/withheld.ts';
import { isDatabaseDamage } from '../../store/storageErrors.ts';
import type { Store } from '../../store/store.ts';
import { readPack, requirePack } from './readPack.ts';

/**
 * Returns the differences from one pack to another: fields of the record, and files by path, digest and media type.
 *
 * @throws Problem `not_found`
 */
export function comparePacks({ read }: Pick<Store, 'read'>, from: string, to: string): PackComparison {
  const [before, after] = readBoth(read, from, to);
  const files = compareFiles(before.files, after.files);
  const count = (change: FileChange) => files.filter((file) => file.change === change).length;
  return {
    from: summaryOf(before),
    to: summaryOf(after),
    record: changedFields(before, after),
    counts: {
      added: count('added'),
      changed: count('changed'),
      removed: count('removed'),
      same: count('same'),
    },
    files,
  };
}

/**
 * Returns the two files that packs have at one path.
 *
 * @throws Problem `not_found`, `nothing_to_compare` if only one has it or both are the same bytes.
 */
export function filesToCompare(
  { read }: Pick<Store, 'read'>,
  from: string,
  to: string,
  path: string,
): { from: PackFile; to: PackFile } {
  const [before, after] = readBoth(read, from, to);
  const at = (pack: Pack) => pack.files.find((file) => file.path === path);
  const files = { from: at(before), to: at(after) };
  if (!files.from && !files.to) throw new Problem('not_found', `Neither pack has a file at ${path}.`);
  if (!files.from || !files.to) {
    throw new Problem('nothing_to_compare', `Only one of the two packs has a file at ${path}.`);
  }
  if (files.from.sha256 === files.to.sha256) {
    throw new Problem('nothing_to_compare', `The file at ${path} is the same in both packs.`);
  }
  return { from: files.from, to: files.to };
}

function readBoth(database: ReadDatabase, from: string, to: string): [Pack, Pack] {
  return onSnapshot(database, (): [Pack, Pack] => [readPack(database, from), readPack(database, to)]);
}

function summaryOf({ id, title, digest, evidence }: Pack): ComparedPack {
  return { id, title, version: evidence.version, digest, received_at: evidence.received_at };
}

function changedFields(before: PackRecord, after: PackRecord): ChangedField[] {
  const fields = Object.keys(packRecordSchema.shape).filter((field) => field !== 'files');
  return fields.flatMap((field) => {
    const sides = { before: before[field as keyof PackRecord], after: after[field as keyof PackRecord] };
    if (canonicalText(sides.before) === canonicalText(sides.after)) return [];
    return [{ field, ...(sides as Omit<ChangedField, 'field'>) }];
  });
}

function compareFiles(before: readonly PackFile[], after: readonly PackFile[]): ComparedFile[] {
  const [older, newer] = [byPath(before), byPath(after)];
  const paths = [...new Set([...older.keys(), ...newer.keys()])].sort(compareByUtf8);
  return paths.map((path) => {
    const sides = { before: older.get(path) ?? null, after: newer.get(path) ?? null };
    return { path, change: changeOf(sides), ...sides };
  });
}

function byPath(files: readonly PackFile[]) {
  return new Map(files.map(({ path, ...side }) => [path, side]));
}

function changeOf({ before, after }: Pick<ComparedFile, 'before' | 'after'>): FileChange {
  if (before === null) return 'added';
  if (after === null) return 'removed';
  const isSame = before.sha256 === after.sha256 && before.media_type === after.media_type;
  return isSame ? 'same' : 'changed';
}

type Check = PackVerification['checks'][number];

/**
 * Verifies a stored pack: its fingerprint from the text of the record, every file by hashing it again, and its ledger
 * entry from the record and the previous entry. Damaged files are recorded as damaged. A file that was given up has no
 * bytes to hash, and nothing is wrong with it. An unreadable row is a failed check.
 *
 * @throws Problem `not_found`
 */
export async function verifyPack(store: Store, id: string): Promise<PackVerification> {
  const row = readable(() => requirePack(store.read, id));
  const checks =
    row === UNREADABLE ? [unreadable('fingerprint', 'the pack’s row')] : await checksOf(store, row);
  return { id, ok: checks.every(({ ok }) => ok), checked_at: store.instant(), checks };
}

async function checksOf(store: Store, row: PackRow): Promise<Check[]> {
  const { checks, record } = recordChecks(store, row);
  const [fingerprint, ...ledger] = checks;
  return fingerprint ? [fingerprint, ...(await blobChecks(store, record)), ...ledger] : [];
}

/** Verifies the record and the ledger entry of a pack, without its files. */
export function recordChecks(
  { read }: Pick<Store, 'read'>,
  row: PackRow,
): { checks: Check[]; record: PackRecord | undefined } {
  const text = readable(() => recordTexts(read, [row.ledger_entry])[0]?.record ?? '');
  if (text === UNREADABLE)
    return { checks: [{ ...unreadable('fingerprint', ''), expected: row.digest }], record: undefined };
  const record = parsed(text);
  const fingerprint = record === undefined ? sha256Of(text) : sha256Of(canonicalText(record));
  const ledger = readable(() => ledgerCheck(read, row, fingerprint));
  return {
    record,
    checks: [
      compared('fingerprint', row.digest, fingerprint),
      ledger === UNREADABLE ? unreadable('ledger', `entry ${row.ledger_entry}`) : ledger,
    ],
  };
}

const UNREADABLE = Symbol('a row that cannot be read');

/** Returns the result of reading rows, or `UNREADABLE` if the database is damaged there. */
function readable<Read>(read: () => Read): Read | typeof UNREADABLE {
  try {
    return read();
  } catch (error) {
    if (isDatabaseDamage(error)) return UNREADABLE;
    throw error;
  }
}

function unreadable(check: Check['check'], expected: string): Check {
  return { check, ok: false, expected, actual: null };
}

/** Parses the record; undefined if the text is damaged and not JSON. */
function parsed(text: string): PackRecord | undefined {
  try {
    return JSON.parse(text) as PackRecord;
  } catch {
    return undefined;
  }
}

function compared(check: Check['check'], expected: string, actual: string | null, path?: string): Check {
  return { check, ok: actual === expected, expected, actual, ...(path === undefined ? {} : { path }) };
}

async function blobChecks(store: Store, record: PackRecord | undefined): Promise<Check[]> {
  const files = Array.isArray(record?.files) ? record.files : [];
  const digests = files.map(({ sha256 }) => sha256);
  const released = new Set(releasedAmong(store.read, digests));
  const kept = files.filter(({ sha256 }) => !released.has(sha256));
  const found = await rehashForReader(store.blobs, kept);
  const damaged = kept.filter(({ sha256 }) => found.get(sha256) !== sha256);
  await confirmDamage(
    store,
    damaged.map(({ sha256 }) => sha256),
  );
  return files.map(({ path, sha256 }) =>
    released.has(sha256)
      ? { check: 'blob', ok: true, expected: sha256, actual: null, released: true, path }
      : compared('blob', sha256, found.get(sha256) ?? null, path),
  );
}

/** Compares the hash of the entry with the one computed from the record, which covers all fields of the entry. */
function ledgerCheck(database: ReadDatabase, { id, ledger_entry: seq }: PackRow, digest: string): Check {
  const entry = entryAt(database, seq);
  const prev = seq === 1 ? NO_HASH : entryAt(database, seq - 1)?.hash;
  if (!entry) return { check: 'ledger', ok: false, expected: `entry ${seq}`, actual: null };
  const actual = hashOf({
    seq,
    at: entry.at,
    type: 'pack.added',
    subject: id,
    digest,
    prev: prev ?? NO_HASH,
  });
  return compared('ledger', entry.hash, actual);
}
