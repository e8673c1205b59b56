import pLimit from 'p-limit';
import type { PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import { Problem, type ProblemCode } from '../../../shared/problems.ts';
import { confirmDamage } from '../../fixity/confirmDamage.ts';
import { isDamaged, recordChanged } from '../../fixity/damages.ts';
import { storeWithRepair } from '../../fixity/storeWithRepair.ts';
import { rehashBlobs } from '../../hashing/hashFiles.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import type { StagedBlob } from '../../store/blobs/blobStore.ts';
import { packByDigest, packById } from '../../store/sqlite/archive/packs.ts';
import { studyById } from '../../store/sqlite/archive/studies.ts';
import { treeNodeAt } from '../../store/sqlite/archive/treeNodes.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { FileFaults } from './fileFaults.ts';
import { insertPackRows } from './insertPackRows.ts';
import { newPackText, readPackText } from './readPack.ts';
import { type CheckedRecord, checkRecord } from './record.ts';
import { requireMatchingFiles } from './sameFiles.ts';

export type { StagedBlob } from '../../store/blobs/blobStore.ts';

/** A record as sent, parsed as strict JSON but not checked yet; or the record of a pack file, which was checked to read it. */
type SentRecord = { record: unknown } | { checked: CheckedRecord };

export type NewPack = SentRecord & {
  /** The files sent with it, by path; absent if the archive must already hold all of them. */
  staged?: ReadonlyMap<string, StagedBlob>;
  /** Whether files that are not in `staged` may be held already. */
  isPartial?: boolean;
  /** Called in the transaction that records the pack, with the number of its ledger entry. */
  onRecorded?: (database: WriteDatabase, seq: number) => void;
  /** Reserves space for the bytes that the archive does not hold yet, before they are stored. Throws if there is none. */
  reserveSpace?: (bytes: number) => Promise<void>;
  /** The store that records repairs, which do not count as the visitor's write. The store of the pack by default. */
  repairStore?: Store;
};

/** The number of blobs of one pack that are stored at once, so that a large pack does not block other uploads. */
const MAX_CONCURRENT_BLOBS = 16;

export interface AddedPack {
  id: string;
  /** Whether the pack is new. Adding the same record again changes nothing. */
  created: boolean;
  /** The JSON text of the pack, as readers get it. */
  text: string;
}

/**
 * Adds a pack. Every kind of upload ends here. When it resolves, the blobs, the record and the ledger entry are on stable
 * storage. If it throws, nothing is stored. Staged files are discarded in both cases.
 *
 * A crash before the blobs are stored leaves files in `tmp/` and records in the journal, which the next start clears. A
 * crash after that and before the commit leaves blobs without a row, which the next start finds in the journal and in
 * `tmp/` and removes. Readers see neither.
 *
 * @throws Problem 413 and 422 with the codes of the contract; `id_taken`; I/O errors.
 */
export async function addPack(store: Store, pack: NewPack): Promise<AddedPack> {
  const { staged, reserveSpace, repairStore = store, isPartial = false } = pack;
  try {
    const checked = 'checked' in pack ? pack.checked : checkRecord(pack.record);
    const { id } = checked;
    const existing = () => ({ id, created: false, text: readPackText(store.read, id) });
    const sent = isPartial && staged ? withFiles(checked, ({ path }) => staged.has(path)) : checked;
    const held = isPartial && staged ? withFiles(checked, ({ path }) => !staged.has(path)) : checked;
    if (staged) requireMatchingFiles(sent, staged);
    if (!staged || isPartial) requireHeldFiles(store.read, held);
    if (packByDigest(store.read, checked.digest)) {
      await repairHeld(repairStore, [...(staged?.values() ?? [])]);
      return existing();
    }
    requireReferences(store.read, checked.record);
    const blobs = [...(staged?.values() ?? [])];
    await reserveSpace?.(newBytes(store.read, blobs));
    await repairHeld(repairStore, blobs);
    await storeAll(blobs);
    const text = await store.write((database) =>
      recordPack(database, checked, store.instant(), pack.onRecorded),
    );
    return text === undefined ? existing() : { id, created: true, text };
  } finally {
    // Does not affect blobs that were stored. The others were refused or were already in the archive.
    await Promise.all([...(staged?.values() ?? [])].map((blob) => blob.discard()));
  }
}

/** The record with some of its files only. */
function withFiles(checked: CheckedRecord, isWanted: (file: PackFile) => boolean): CheckedRecord {
  const { record } = checked;
  return { ...checked, record: { ...record, files: record.files.filter(isWanted) } };
}

/** @throws Problem `unknown_blob`, `files_mismatch` with a pointer to each file that the archive does not hold intact. */
function requireHeldFiles(database: ReadDatabase, { record, pointerTo }: CheckedRecord): void {
  const faults = new FileFaults();
  for (const { path, sha256, bytes } of record.files) {
    const held = blobBytes(database, sha256);
    if (held === undefined) {
      faults.add('unknown_blob', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: the archive does not have ${sha256}. Send the file itself.`,
      });
    } else if (isDamaged(database, sha256)) {
      faults.add('unknown_blob', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: the archive’s copy of ${sha256} is damaged. Send the file itself.`,
      });
    } else if (held !== bytes) {
      faults.add('files_mismatch', path, {
        path: pointerTo(path, 'bytes'),
        message: `${path}: the file has ${held} bytes, but the record says ${bytes}.`,
      });
    }
  }
  faults.throwIfAny();
}

/** @throws Problem `unknown_node`, `unknown_study`, `unknown_pack` */
function requireReferences(database: ReadDatabase, record: PackRecord): void {
  const { node, study, replicates, supersedes } = record;
  if (node !== null && !treeNodeAt(database, node)) {
    throw unknown('unknown_node', '/node', `There is no subject ${node}. Create it first, or omit it.`);
  }
  if (study !== null && !studyById(database, study)) {
    throw unknown('unknown_study', '/study', `There is no study ${study}.`);
  }
  if (replicates !== null && !packById(database, replicates.pack)) {
    throw unknown('unknown_pack', '/replicates/pack', `There is no pack ${replicates.pack} to replicate.`);
  }
  if (supersedes !== null && !packById(database, supersedes)) {
    throw unknown('unknown_pack', '/supersedes', `There is no pack ${supersedes} to supersede.`);
  }
}

function unknown(code: ProblemCode, path: string, message: string): Problem {
  return new Problem(code, message, { errors: [{ path, message }] });
}

/** Returns the additional bytes that must be stored. Blobs that are already stored or sent twice need no space. */
function newBytes(database: ReadDatabase, blobs: readonly StagedBlob[]): number {
  const bytesByDigest = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  let sum = 0;
  for (const [sha256, bytes] of bytesByDigest) if (blobBytes(database, sha256) === undefined) sum += bytes;
  return sum;
}

/**
 * Checks the stored copies of blobs that were sent again. Copies that are damaged or missing (for example after a dump
 * was restored) are replaced. Damage is recorded before it is repaired.
 */
async function repairHeld(store: Store, staged: readonly StagedBlob[]): Promise<void> {
  const named = staged.filter(({ sha256 }) => blobBytes(store.read, sha256) !== undefined);
  if (named.length === 0) return;
  // One that has left this disk comes back, so that no upload waits for a copy.
  const here = named.filter(({ sha256 }) => store.blobs.away.bytesOf(sha256) === undefined);
  for (const blob of named) if (!here.includes(blob)) await storeWithRepair(store, blob);
  const found = await rehashBlobs(store.blobs, here);
  for (const blob of here) {
    const actual = found.get(blob.sha256) ?? null;
    if (actual === blob.sha256 && !isDamaged(store.read, blob.sha256)) continue;
    if (actual !== null) await recordChanged(store, blob, actual);
    else if ((await store.blobs.bytesOf(blob.sha256)) !== undefined)
      await confirmDamage(store, [blob.sha256]);
    await storeWithRepair(store, blob);
  }
}

/** Stores the blobs durably. Small ones use the journal while it is short, so that concurrent uploads share one fsync. */
async function storeAll(staged: readonly StagedBlob[]): Promise<void> {
  const atOnce = pLimit(MAX_CONCURRENT_BLOBS);
  const outcomes = await Promise.allSettled(staged.map((blob) => atOnce(() => blob.keep('either'))));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Writes the rows and the ledger entry, and returns the text of the pack; undefined if another upload of the same record
 * was faster.
 */
function recordPack(
  database: WriteDatabase,
  checked: CheckedRecord,
  at: string,
  onRecorded: NewPack['onRecorded'],
): string | undefined {
  const { digest, id } = checked;
  if (packByDigest(database, digest)) return undefined;
  if (packById(database, id)) {
    throw new Problem(
      'id_taken',
      `Another record has the id ${id}. Change something in this one, for example its summary.`,
    );
  }
  const { seq } = appendEntry(database, { type: 'pack.added', subject: id, digest, at });
  insertPackRows(database, checked, seq, at);
  onRecorded?.(database, seq);
  return newPackText(database, id, checked.text);
}
