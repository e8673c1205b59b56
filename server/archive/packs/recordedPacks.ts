import { canonicalText } from '../../../shared/canonicalJson.ts';
import { type PackRecord, tagOf } from '../../../shared/pack.ts';
import { sha256Of } from '../../ledger/entry.ts';
import type { RecordedSubject } from '../../ledger/verifyLedger.ts';
import { filesOfPack, iterateStoredPacks, type StoredPack } from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/**
 * Every pack with the digest of its record. Lists, blobs and exports read what the pack's rows repeat of the record,
 * so where they say something else, the digest is of what they say. A record whose pack has no row, or another's, is
 * left out: nobody can reach that pack any more.
 */
export function* recordedPacks(database: ReadDatabase): Generator<RecordedSubject> {
  for (const pack of iterateStoredPacks(database)) {
    const digest = sha256Of(pack.record);
    if (pack.digest !== digest || pack.id !== `pk_${digest.slice(0, 20)}`) {
      if (pack.digest !== null)
        yield { seq: pack.ledger_entry, digest: sha256Of(`${pack.id} ${pack.digest}`) };
      continue;
    }
    const recorded = shownOf(pack.record);
    const shown = canonicalText({ ...rowOf(pack), files: filesOfPack(database, pack.ledger_entry) });
    yield { seq: pack.ledger_entry, digest: shown === recorded ? digest : sha256Of(shown) };
  }
}

/** What a pack's rows must repeat of its record, as text. A record that is no JSON has none: its digest tells it. */
function shownOf(text: string): string | undefined {
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
