import pLimit from 'p-limit';
import type { PackRecord } from '../../../shared/pack.ts';
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

export interface NewPack {
  /** The record as it was sent: parsed strictly, checked here. */
  record: unknown;
  /** The bytes that came with it, by path; absent where the archive is to hold every file already. */
  staged?: ReadonlyMap<string, StagedBlob>;
  /** Asked for room for the bytes that the archive does not hold yet, before any are kept; throws where there is none. */
  reserveSpace?: (bytes: number) => Promise<void>;
}

/** Blobs of one pack that are kept together, so that a pack of many leaves room for others between. */
const KEPT_AT_ONCE = 16;

export interface AddedPack {
  id: string;
  /** Whether it is new: the same record again changes nothing. */
  created: boolean;
  /** The pack as JSON, as it is read from then on. */
  text: string;
}

/**
 * Adds a pack: the one way in for every kind of upload. When it resolves, the blobs, the record and the ledger entry
 * are on stable storage; whatever it throws, nothing is left of it and what was staged is discarded.
 *
 * A crash before the blobs are kept leaves files in `tmp/` and records in the journal, which the next start empties; one
 * after that and before the commit leaves blobs that no row names, which the next start knows from the journal and from
 * `tmp/` and removes. Neither can be seen by a reader.
 *
 * @throws Problem 413 and 422 with the codes of the contract; `id_taken`; whatever the disk says.
 */
export async function addPack(
  store: Store,
  { record: sent, staged, reserveSpace }: NewPack,
): Promise<AddedPack> {
  try {
    const checked = checkRecord(sent);
    const { id } = checked;
    const there = () => ({ id, created: false, text: readPackText(store.latest(), id) });
    if (staged) requireMatchingFiles(checked, staged);
    else requireHeldFiles(store.latest(), checked);
    if (packByDigest(store.latest(), checked.digest)) {
      await mendHeld(store, [...(staged?.values() ?? [])]);
      return there();
    }
    requireReferences(store.latest(), checked.record);
    const blobs = [...(staged?.values() ?? [])];
    await reserveSpace?.(newBytes(store.latest(), blobs));
    await mendHeld(store, blobs);
    await keepAll(blobs);
    const text = await store.write((database) => recordPack(database, checked, store.instant()));
    return text === undefined ? there() : { id, created: true, text };
  } finally {
    // What a row names stays; what was refused, or was there already, goes.
    await Promise.all([...(staged?.values() ?? [])].map((blob) => blob.discard()));
  }
}

/** @throws Problem `unknown_blob`, `files_mismatch` with a pointer to each file that the archive does not hold so. */
function requireHeldFiles(database: ReadDatabase, { record, pointerTo }: CheckedRecord): void {
  const faults = new FileFaults();
  for (const { path, sha256, bytes } of record.files) {
    const held = blobBytes(database, sha256);
    if (held === undefined) {
      faults.add('unknown_blob', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: the archive does not hold ${sha256}; send the file itself.`,
      });
    } else if (isDamaged(database, sha256)) {
      faults.add('unknown_blob', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: the bytes of ${sha256} are damaged here; send the file itself.`,
      });
    } else if (held !== bytes) {
      faults.add('files_mismatch', path, {
        path: pointerTo(path, 'bytes'),
        message: `${path}: this file has ${held} bytes, the record says ${bytes}.`,
      });
    }
  }
  faults.throwIfAny();
}

/** @throws Problem `unknown_node`, `unknown_study`, `unknown_pack` */
function requireReferences(database: ReadDatabase, record: PackRecord): void {
  const { node, study, replicates, supersedes } = record;
  if (node !== null && !treeNodeAt(database, node)) {
    throw unknown('unknown_node', '/node', `There is no node ${node}. Create it first, or leave it out.`);
  }
  if (study !== null && !studyById(database, study)) {
    throw unknown('unknown_study', '/study', `There is no study ${study} here.`);
  }
  if (replicates !== null && !packById(database, replicates.pack)) {
    throw unknown(
      'unknown_pack',
      '/replicates/pack',
      `There is no pack ${replicates.pack} here to replicate.`,
    );
  }
  if (supersedes !== null && !packById(database, supersedes)) {
    throw unknown('unknown_pack', '/supersedes', `There is no pack ${supersedes} here to supersede.`);
  }
}

function unknown(code: ProblemCode, path: string, message: string): Problem {
  return new Problem(code, message, { errors: [{ path, message }] });
}

/** How many bytes the archive would hold more: what it holds already, or gets twice, takes no room. */
function newBytes(database: ReadDatabase, blobs: readonly StagedBlob[]): number {
  const bytesByDigest = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  let sum = 0;
  for (const [sha256, bytes] of bytesByDigest) if (blobBytes(database, sha256) === undefined) sum += bytes;
  return sum;
}

/**
 * Looks at the stored bytes of what came and was held already: where they are missing, after the restore of a dump
 * say, or damaged, the ones that came take their place. Damage is recorded before it is mended, even so.
 */
async function mendHeld(store: Store, staged: readonly StagedBlob[]): Promise<void> {
  const named = staged.filter(({ sha256 }) => blobBytes(store.latest(), sha256) !== undefined);
  if (named.length === 0) return;
  const found = await rehashBlobs(store.blobs, named);
  for (const blob of named) {
    const there = found.get(blob.sha256) ?? null;
    if (there === blob.sha256 && !isDamaged(store.read, blob.sha256)) continue;
    if (there !== null) await recordChanged(store, blob, there);
    else if ((await store.blobs.bytesOf(blob.sha256)) !== undefined)
      await confirmDamage(store, [blob.sha256]);
    await storeWithRepair(store, blob);
  }
}

/** Small ones by way of the journal while it is short: what comes at the same time is then kept with one sync. */
async function keepAll(staged: readonly StagedBlob[]): Promise<void> {
  const atOnce = pLimit(KEPT_AT_ONCE);
  const kept = await Promise.allSettled(staged.map((blob) => atOnce(() => blob.keep('either'))));
  for (const outcome of kept) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Writes the rows and the ledger entry, and reads the pack while all of it is at hand; undefined where another upload of
 * the same record came first.
 */
function recordPack(database: WriteDatabase, checked: CheckedRecord, at: string): string | undefined {
  const { digest, id } = checked;
  if (packByDigest(database, digest)) return undefined;
  if (packById(database, id)) {
    throw new Problem(
      'id_taken',
      `Another record has the id ${id}. Change anything in this one, its summary say.`,
    );
  }
  const { seq } = appendEntry(database, { type: 'pack.added', subject: id, digest, at });
  insertPackRows(database, checked, seq, at);
  return newPackText(database, id, checked.text);
}
