import { createReadStream } from 'node:fs';
import type { Comment } from '../../shared/archive/comment.ts';
import type { ArchiveNode } from '../../shared/archive/treeNode.ts';
import type { RecordedRetrieval } from '../../shared/collection/retrieval.ts';
import { FORMAT_WITHOUT_BATCHES } from '../../shared/ledger/dump.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import { insertFlagRows } from '../archive/packs/flagPack.ts';
import { insertPackRows } from '../archive/packs/insertPackRows.ts';
import { checkRecord } from '../archive/packs/record.ts';
import { appendTiles, rootAt } from '../ledger/tree.ts';
import { insertComment } from '../store/sqlite/archive/comments.ts';
import { type FlagRow, packById } from '../store/sqlite/archive/packs.ts';
import { insertStatus, insertStudy, type StatusRow, type StudyRow } from '../store/sqlite/archive/studies.ts';
import { insertTreeNode } from '../store/sqlite/archive/treeNodes.ts';
import { insertCapture } from '../store/sqlite/collection/captures.ts';
import { nameCertificates } from '../store/sqlite/collection/certificates.ts';
import {
  insertBatch,
  insertLeaf,
  lastRetrieval,
  type RetrievalBatch,
  setLastToCover,
} from '../store/sqlite/collection/retrievalBatches.ts';
import { indexSource } from '../store/sqlite/collection/sourceIndex.ts';
import { sourceByKey, sourceKeyOf } from '../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import { type FindingRow, insertFinding, targetText } from '../store/sqlite/findings/findings.ts';
import { createBlobRowIfAbsent } from '../store/sqlite/node/blobs.ts';
import { isRowKind, restoreRow } from '../store/sqlite/node/dump.ts';
import { entryAt, insertEntry, lastEntry } from '../store/sqlite/node/ledger.ts';
import { insertTimestamp, type StoredTimestamp } from '../store/sqlite/node/timestamps.ts';
import { type CosignatureRow, insertCosignature } from '../store/sqlite/node/witness.ts';
import type { Store } from '../store/store.ts';
import { checkDump, type DumpHead, type DumpLine } from './checkDump.ts';
import { DumpError, READ_SIZE } from './dumpFile.ts';

/** The number of lines in one transaction. */
const BATCH_SIZE = 2_000;

/**
 * Restores a dump into an empty archive, writing each line after it was checked. If this throws, the archive is
 * incomplete and the caller must remove the folder.
 *
 * @throws DumpError
 */
export async function restoreDump(store: Store, file: string): Promise<DumpHead> {
  if (lastEntry(store.read))
    throw new DumpError('This archive is not empty. A dump can only be restored into an empty archive.');
  let batch: DumpLine[] = [];
  const write = async () => {
    const written = batch;
    batch = [];
    await store.write((database) => {
      for (const line of written) restoreLine(database, line);
    });
  };
  const checked = checkDump(createReadStream(file, { highWaterMark: READ_SIZE }));
  let step = await checked.next();
  for (; !step.done; step = await checked.next()) {
    batch.push(step.value);
    if (batch.length >= BATCH_SIZE) await write();
  }
  await write();
  const head = step.value;
  const { format, checkpoint } = head;
  if (!rootAt(store.read, checkpoint.size).equals(checkpoint.root))
    throw new DumpError('The entries that were written are not those that the checkpoint was signed over.');
  // Retrievals that the dump's ledger does not cover are covered when the archive is first opened.
  if (format === FORMAT_WITHOUT_BATCHES)
    await store.write((database) => setLastToCover(database, lastRetrieval(database)));
  return head;
}

/** Writes a line of each kind; lines of the other kinds are written as rows unchanged. */
const RESTORE: Record<string, (database: WriteDatabase, line: unknown) => void> = {
  timestamp: (database, line) => {
    const timestamp = line as Omit<StoredTimestamp, 'reply'> & { reply: string };
    insertTimestamp(database, { ...timestamp, reply: Buffer.from(timestamp.reply, 'hex') });
  },
  cosignature: (database, line) => insertCosignature(database, line as CosignatureRow),
  entry: (database, line) => {
    const entry = line as LedgerEntry;
    insertEntry(database, entry);
    appendTiles(database, entry.seq);
  },
  node: (database, line) => {
    const node = line as ArchiveNode;
    const parent = node.path.includes('/') ? node.path.slice(0, node.path.lastIndexOf('/')) : null;
    insertTreeNode(database, { ...node, parent });
  },
  study: (database, line) => {
    const study = line as StudyRow;
    insertStudy(database, study);
    const { id, status, created_at, ledger_entry } = study;
    insertStatus(database, { study: id, status, note: '', at: created_at, ledger_entry });
  },
  study_status: (database, line) => insertStatus(database, line as StatusRow),
  pack: (database, line) => {
    const { record, ledger_entry } = line as { record: unknown; ledger_entry: number };
    const at = entryAt(database, ledger_entry)?.at ?? '';
    insertPackRows(database, checkRecord(record), ledger_entry, at);
  },
  flag: (database, line) => {
    const flag = line as FlagRow & { ledger_entry: number };
    insertFlagRows(database, packById(database, flag.pack)?.ledger_entry ?? 0, flag);
  },
  comment: (database, line) => insertComment(database, line as Comment),
  finding: (database, line) => {
    const finding = line as FindingRow;
    insertFinding(database, finding, targetText(database, finding.target) ?? finding.target.id);
  },
  source: (database, line) => {
    const { key } = line as { key: number };
    restoreRow(database, 'source', line as Record<string, unknown>);
    const source = sourceByKey(database, key);
    if (source) indexSource(database, source.key, source);
  },
  retrieval_batch: (database, line) => insertBatch(database, line as RetrievalBatch),
  retrieval: (database, line) => restoreRetrieval(database, line as RecordedRetrieval & { leaf?: string }),
};

function restoreLine(database: WriteDatabase, { kind, value, number }: DumpLine): void {
  try {
    if (RESTORE[kind]) RESTORE[kind](database, value);
    else if (isRowKind(kind)) restoreRow(database, kind, value);
    else throw new TypeError(`Lines of the kind ${kind} cannot be restored.`);
  } catch (error) {
    // The constraints of the tables catch what the checks do not.
    if (error instanceof Error && errorCode(error)?.startsWith('SQLITE_CONSTRAINT'))
      throw new DumpError(`it contradicts earlier lines (${error.message}).`, number);
    throw error;
  }
}

/** Older lines name their source by its key, and have their capture in a separate line. */
function restoreRetrieval(database: WriteDatabase, line: RecordedRetrieval & { leaf?: string }): void {
  const { id, sha256, bytes, observed_at, source, capture, leaf } = line;
  if (sha256 !== null && bytes !== null)
    createBlobRowIfAbsent(database, { sha256, bytes, stored_at: observed_at });
  nameCertificates(database, line);
  if (leaf === undefined) return restoreRow(database, 'retrieval', { ...line });
  restoreRow(database, 'retrieval', { ...line, source_key: sourceKeyOf(database, source) });
  insertLeaf(database, id, Buffer.from(leaf, 'hex'));
  if (capture) insertCapture(database, { retrieval: id, ...capture });
}
