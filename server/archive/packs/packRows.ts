import { type NewFlag, type PackFile, type PackRecord, tagOf } from '../../../shared/archive/pack.ts';
import { setOfPart } from '../../../shared/archive/set.ts';
import type { RecordedDeposit } from '../../../shared/node/deposit.ts';
import { foldedText } from '../../../shared/values/text.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
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
  insertPackFiles,
  insertPackRecord,
  packById,
  recordTexts,
} from '../../store/sqlite/archive/packs.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowsIfAbsent } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { depositDigest, flagDigest } from '../recordedSubjects.ts';
import type { CheckedRecord } from './checkRecord.ts';
import { requirePack } from './readPack.ts';

/**
 * Inserts the rows of a pack with the ledger entry `seq`. `original_had_method` is the state of the original pack now.
 *
 * @param brought the files whose bytes came with it. The others have the row of a blob
 */
export function insertPackRows(
  database: WriteDatabase,
  checked: CheckedRecord,
  seq: number,
  at: string,
  brought: readonly PackFile[] = checked.record.files,
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
  createBlobRowsIfAbsent(database, at, brought);
  insertPackFiles(database, seq, record.files);
  if (record.replicates) countReplication(database, record.replicates.pack);
  indexPack(database, seq, digest, record);
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
      if (filter.filter === 'node' || filter.filter === 'study')
        removePackFilter(database, { pack, ...filter });
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
  removePackFilter(database, { pack, filter: 'flagged', value: 'false' });
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
