import type { PackRecord, PackVerification } from '../../../shared/archive/pack.ts';
import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { confirmDamage } from '../../fixity/confirmDamage.ts';
import { rehashForReader } from '../../hashing/hashFiles.ts';
import { hashOf, sha256Of } from '../../ledger/entry.ts';
import { isDatabaseDamage } from '../../store/databaseDamage.ts';
import { type PackRow, recordTexts } from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { entryAt } from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { requirePack } from './readPack.ts';

type Check = PackVerification['checks'][number];

/**
 * Verifies a stored pack: its fingerprint from the text of the record, every file by hashing it again, and its ledger
 * entry from the record and the previous entry. Damaged files are recorded as damaged. An unreadable row is a failed
 * check.
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
  const text = readable(() => recordTexts(store.read, [row.ledger_entry])[0]?.record ?? '');
  if (text === UNREADABLE) return [{ ...unreadable('fingerprint', ''), expected: row.digest }];
  const record = parsed(text);
  const fingerprint = record === undefined ? sha256Of(text) : sha256Of(canonicalText(record));
  const ledger = readable(() => ledgerCheck(store.read, row, fingerprint));
  return [
    compared('fingerprint', row.digest, fingerprint),
    ...(await blobChecks(store, record)),
    ledger === UNREADABLE ? unreadable('ledger', `entry ${row.ledger_entry}`) : ledger,
  ];
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
  const found = await rehashForReader(store.blobs, files);
  const damaged = files.filter(({ sha256 }) => found.get(sha256) !== sha256);
  await confirmDamage(
    store,
    damaged.map(({ sha256 }) => sha256),
  );
  return files.map(({ path, sha256 }) => compared('blob', sha256, found.get(sha256) ?? null, path));
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
