import { type PackRecord, tagOf } from '../../../shared/archive/pack.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { sha256Of } from '../../ledger/entry.ts';
import type { RecordedSubject } from '../../ledger/verifyLedger.ts';
import { filesOfPack, iterateStoredPacks, type StoredPack } from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/**
 * Generates every pack with the digest of its record. Lists, blobs and exports use columns that repeat parts of the
 * record. If these differ from the record, a digest of the columns is returned instead, so that verification fails. A
 * record without its own pack row is omitted, because readers can no longer reach that pack.
 */
export function* recordedPacks(database: ReadDatabase): Generator<RecordedSubject> {
  for (const pack of iterateStoredPacks(database)) {
    const digest = sha256Of(pack.record);
    if (pack.digest !== digest || pack.id !== `pk_${digest.slice(0, 20)}`) {
      if (pack.digest !== null)
        yield { seq: pack.ledger_entry, digest: sha256Of(`${pack.id} ${pack.digest}`) };
      continue;
    }
    const expected = expectedColumns(pack.record);
    const actual = canonicalText({ ...rowOf(pack), files: filesOfPack(database, pack.ledger_entry) });
    yield { seq: pack.ledger_entry, digest: actual === expected ? digest : sha256Of(actual) };
  }
}

/** Returns the expected columns of a pack's rows as text; undefined if the record is not JSON, which its digest shows. */
function expectedColumns(text: string): string | undefined {
  let record: PackRecord;
  try {
    record = JSON.parse(text) as PackRecord;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { outcome, study, supersedes, replicates, files } = record;
  return canonicalText({
    outcome,
    study,
    supersedes,
    replicates: replicates?.pack ?? null,
    verdict: replicates?.verdict ?? null,
    tag: tagOf(record),
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    count: files.length,
  });
}

function rowOf({ outcome, study, supersedes, replicates, verdict, tag, bytes, files }: StoredPack): object {
  return { outcome, study, supersedes, replicates, verdict, tag, bytes, count: files };
}
