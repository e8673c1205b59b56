import { type PackFile, tagOf } from '../../../shared/archive/pack.ts';
import {
  countReplication,
  insertPack,
  insertPackFile,
  insertPackRecord,
  packById,
} from '../../store/sqlite/archive/packs.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { foldedText } from '../foldedText.ts';
import { indexPack } from './indexPack.ts';
import type { CheckedRecord } from './record.ts';

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
