import type { Comment } from '../../shared/comment.ts';
import type { LedgerEntry } from '../../shared/ledger.ts';
import type { ArchiveNode } from '../../shared/node.ts';
import { placeFlag } from '../archive/packs/flagPack.ts';
import { placePack } from '../archive/packs/placePack.ts';
import { checkRecord } from '../archive/packs/record.ts';
import { hashOf } from '../ledger/entry.ts';
import { appendTiles, rootAt } from '../ledger/tree.ts';
import { createBlobRowIfAbsent } from '../store/sqlite/blobs.ts';
import { insertComment } from '../store/sqlite/comments.ts';
import { DUMPED_ROW_KINDS, type DumpedRowKind, restoreRow } from '../store/sqlite/dump.ts';
import { entryAt, insertEntry, lastEntry } from '../store/sqlite/ledger.ts';
import { insertNode } from '../store/sqlite/nodes.ts';
import type { WriteDatabase } from '../store/sqlite/open.ts';
import { type FlagRow, packById } from '../store/sqlite/packs.ts';
import { indexSource, sourceByKey } from '../store/sqlite/sources.ts';
import { insertStatus, insertStudy, type StatusRow, type StudyRow } from '../store/sqlite/studies.ts';
import type { Store } from '../store/store.ts';
import { checkDump, DumpError, type DumpHead, linesOf, parseLine } from './dumpFile.ts';

/** Lines that are written in one transaction. */
const BATCH = 2_000;

/**
 * Reads a dump back into an archive that holds nothing yet. The dump is read twice: first to see that it is whole, then
 * to write it. What it fills then has the ledger that the dump's checkpoint was signed over, or this throws: the caller
 * then throws the folder away.
 *
 * @throws DumpError with a sentence; Problem where a record breaks its rules.
 */
export async function restoreDump(
  store: Store,
  file: string,
  tell: (lines: number) => void = () => {},
): Promise<DumpHead> {
  if (lastEntry(store.read))
    throw new DumpError('This archive is not empty; a dump is read into an empty one.');
  const head = await checkDump(file);
  let batch: Record<string, unknown>[] = [];
  let lines = 0;
  const write = async () => {
    const written = batch;
    batch = [];
    await store.write((database) => {
      for (const line of written) restoreLine(database, line);
    });
    lines += written.length;
    tell(lines);
  };
  for await (const line of linesOf(file)) {
    batch.push(parseLine(line));
    if (batch.length >= BATCH) await write();
  }
  await write();
  const size = lastEntry(store.read)?.seq ?? 0;
  if (size !== head.checkpoint.size || !rootAt(store.read, size).equals(head.checkpoint.root)) {
    throw new DumpError('The entries in the dump are not those that its checkpoint was signed over.');
  }
  return head;
}

type Line = Record<string, unknown>;

/** How a line of each kind is put back; `header` and `trailer` were dealt with before. */
const RESTORE: Record<string, (database: WriteDatabase, line: Line) => void> = {
  header: () => {},
  trailer: () => {},
  entry: (database, line) => restoreEntry(database, line as unknown as LedgerEntry),
  node: (database, line) => {
    const node = line as unknown as ArchiveNode;
    const parent = node.path.includes('/') ? node.path.slice(0, node.path.lastIndexOf('/')) : null;
    insertNode(database, { ...node, parent });
  },
  study: (database, line) => {
    const study = line as unknown as StudyRow;
    insertStudy(database, study);
    const { id, status, created_at, ledger_entry } = study;
    insertStatus(database, { study: id, status, note: '', at: created_at, ledger_entry });
  },
  study_status: (database, line) => insertStatus(database, line as unknown as StatusRow),
  pack: (database, { record, ledger_entry, digest }) => {
    const checked = checkRecord(record);
    const entry = entryAt(database, Number(ledger_entry));
    if (!entry || checked.digest !== digest)
      throw new DumpError(`The pack of entry ${String(ledger_entry)} was altered.`);
    placePack(database, checked, entry.seq, entry.at);
  },
  flag: (database, line) => {
    const flag = line as unknown as FlagRow & { ledger_entry: number };
    const pack = packById(database, flag.pack);
    if (!pack) throw new DumpError(`The dump flags a pack ${flag.pack} that it does not hold.`);
    placeFlag(database, pack.ledger_entry, flag);
  },
  comment: (database, line) => insertComment(database, line as unknown as Comment),
};

function restoreLine(database: WriteDatabase, line: Line): void {
  const kind = String(line.kind);
  if (isRowKind(kind)) return restoreCollectionRow(database, kind, line);
  const restore = Object.hasOwn(RESTORE, kind) ? RESTORE[kind] : undefined;
  if (!restore) throw new DumpError(`This Strongroom knows no line of the kind ${JSON.stringify(kind)}.`);
  restore(database, line);
}

function isRowKind(kind: string): kind is DumpedRowKind {
  return (DUMPED_ROW_KINDS as string[]).includes(kind);
}

function restoreEntry(database: WriteDatabase, entry: LedgerEntry): void {
  if (hashOf(entry) !== entry.hash) throw new DumpError(`Entry ${entry.seq} was altered.`);
  insertEntry(database, entry);
  appendTiles(database, entry.seq);
}

function restoreCollectionRow(database: WriteDatabase, kind: DumpedRowKind, row: Line): void {
  if (kind === 'retrieval' && typeof row.sha256 === 'string') {
    const blob = { sha256: row.sha256, bytes: Number(row.bytes), stored_at: String(row.observed_at) };
    createBlobRowIfAbsent(database, blob);
  }
  restoreRow(database, kind, row);
  const source = kind === 'source' ? sourceByKey(database, Number(row.key)) : undefined;
  if (source) indexSource(database, source.key, source);
}
