import pLimit from 'p-limit';
import type { PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import { type FieldError, Problem, type ProblemCode } from '../../../shared/problems.ts';
import { confirmDamage } from '../../fixity/audit.ts';
import { isDamaged, recordChanged, storeWithRepair } from '../../fixity/damages.ts';
import { rehashBlobs } from '../../hashing/hashFiles.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import type { StagedBlob } from '../../store/blobs/blobStore.ts';
import { discardAll } from '../../store/blobs/staging.ts';
import { packByDigest, packById } from '../../store/sqlite/archive/packs.ts';
import { type JoinedPart, joinFiles } from '../../store/sqlite/archive/sets.ts';
import { studyById, treeNodeAt } from '../../store/sqlite/archive/studies.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import {
  alsoFrom,
  cameFromElsewhere,
  fromPeer,
  onlyFromOthers,
  VISITORS,
  withheldByOthers,
} from '../../store/sqlite/node/peerOrigins.ts';
import { isAbsent } from '../../store/sqlite/node/peers.ts';
import { isReleased, releasedAmong } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { checkNewSet, type SetLimits } from '../sets/checkSet.ts';
import { requireNoneReleased } from '../sets/joinedFiles.ts';
import { recordSet } from '../sets/readSet.ts';
import type { SetIndex } from '../sets/setIndex.ts';
import { type CheckedRecord, checkRecord, requireNewPaths } from './checkRecord.ts';
import { insertPackRows } from './packRows.ts';
import { newPackText, readPackText } from './readPack.ts';

export type { StagedBlob } from '../../store/blobs/blobStore.ts';
export { discardAll };

/** A record as sent, parsed as strict JSON but not checked yet; or the record of a pack file, which was checked to read it. */
type SentRecord = { record: unknown } | { checked: CheckedRecord };

export type NewPack = SentRecord & {
  /** The files sent with it, by path; absent if the archive must already hold all of them. */
  staged?: ReadonlyMap<string, StagedBlob>;
  /** Whether files that are not in `staged` may be held already. */
  isPartial?: boolean;
  /** Digests of files whose bytes are nowhere to be had. The pack is recorded without them. */
  absent?: ReadonlySet<string>;
  /**
   * The digest of the whole file, if the only file of the pack is a piece of it. The owner states it, or it was computed. The
   * two are withheld together from now on, also before the manifest of the set is recorded.
   */
  pieceOf?: string | undefined;
  /** What the sender may make a set of. Without it, anything. */
  setLimits?: SetLimits;
  /** Whether the record exists elsewhere, as in an exported pack file: its paths are taken as they are. */
  isExisting?: boolean;
  /** The number of the peer from which the pack is mirrored; absent for every upload. */
  from?: number;
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
 * A crash before the blobs are stored leaves files in `tmp/`, which the next start clears. A crash after that and before the
 * commit leaves blobs without a row, which the next start finds by their markers in `tmp/` and removes. Readers see
 * neither.
 *
 * @throws Problem 413 and 422 with the codes of the contract; `id_taken`; for a manifest of a set, like `checkNewSet`; I/O
 * errors.
 */
export async function addPack(store: Store, pack: NewPack): Promise<AddedPack> {
  const { staged, absent, reserveSpace, repairStore = store, isPartial = false, pieceOf } = pack;
  try {
    const checked = 'checked' in pack ? pack.checked : checkRecord(pack.record);
    const { id } = checked;
    const existing = () => ({ id, created: false, text: readPackText(store.read, id) });
    const isHeld = packByDigest(store.read, checked.digest) !== undefined;
    checkPaths(checked, { ...pack, isHeld });
    const sent = isPartial && staged ? withFiles(checked, ({ path }) => staged.has(path)) : checked;
    const held =
      isPartial && staged
        ? withFiles(checked, ({ path, sha256 }) => !staged.has(path) && !absent?.has(sha256))
        : checked;
    if (staged) requireMatchingFiles(sent, staged);
    if (!staged || isPartial) requireHeldFiles(store.read, held);
    const joined = joinedWith(checked, pieceOf);
    requireNoneReleased(store.read, joined);
    if (isHeld) {
      await repairHeld(repairStore, [...(staged?.values() ?? [])]);
      await recordSentAgain(repairStore, pack, joined);
      return existing();
    }
    requireNotReleased(store.read, checked);
    requireReferences(store.read, checked.record);
    const blobs = [...(staged?.values() ?? [])];
    await reserveSpace?.(newBytes(store.read, blobs));
    await repairHeld(repairStore, blobs);
    await storeAll(blobs);
    const set = await setOfManifest(repairStore, checked.record, pack);
    const origin = originOfSender(pack);
    const onRecorded = (database: WriteDatabase, seq: number) => {
      pack.onRecorded?.(database, seq);
      if (set) recordSet(database, { ledger_entry: seq, record: checked.record }, set, origin ?? 'owner');
    };
    const text = await store.write((database) => {
      const record = () =>
        recordPack(database, checked, store.instant(), namedOnly(database, pack), onRecorded);
      requireNoneReleased(database, joined);
      const recorded = fromPeer(database, origin, record);
      joinFiles(database, joined, 'owner');
      return recorded;
    });
    return text === undefined ? existing() : { id, created: true, text };
  } finally {
    // Does not affect blobs that were stored. The others were refused or were already in the archive.
    await discardAll(staged?.values() ?? []);
  }
}

/** @throws Problem `invalid_field` if it is a new pack with a path that no new pack may have */
function checkPaths(
  { record, pointerTo }: CheckedRecord,
  { isHeld, isExisting = false, from }: Pick<NewPack, 'isExisting' | 'from'> & { isHeld: boolean },
): void {
  if (isHeld || isExisting || from !== undefined) return;
  const paths = record.files.map(({ path }) => path);
  requireNewPaths(paths, (path) => pointerTo(path, 'path'));
}

/** Returns the piece with the digest of its whole file. @throws Problem `invalid_field` for a pack that is no piece */
function joinedWith({ record: { files } }: CheckedRecord, pieceOf: string | undefined): JoinedPart[] {
  if (pieceOf === undefined) return [];
  const [piece, ...others] = files;
  if (!piece || others.length > 0)
    throw new Problem('invalid_field', 'A pack that holds a piece of a file has no other files.');
  return [[pieceOf, piece.sha256]];
}

type Sent = Pick<NewPack, 'from' | 'staged' | 'setLimits'>;

/** The number of the peer or of the visitors who send a pack; undefined for the owner. */
function originOfSender({ from, setLimits }: Sent): number | undefined {
  return from ?? (setLimits?.reader.owner === false ? VISITORS : undefined);
}

/** The digests whose bytes were sent. Whoever names another digest need not have its bytes. */
function sentBytes({ staged }: Sent): ReadonlySet<string> {
  return new Set([...(staged?.values() ?? [])].map(({ sha256 }) => sha256));
}

/** Returns whether a digest is here already, and this upload only names it: that changes nothing about where it came from. */
function namedOnly(database: ReadDatabase, pack: Sent): (sha256: string) => boolean {
  const sent = sentBytes(pack);
  return (sha256) =>
    pack.from === undefined && !sent.has(sha256) && blobBytes(database, sha256) !== undefined;
}

/**
 * Records for a pack that is already here of which file it is a piece, and which of its files are no longer from a peer alone,
 * because somebody else sent them, too.
 */
async function recordSentAgain(store: Store, pack: Sent, joined: readonly JoinedPart[]): Promise<void> {
  const sent = pack.from === undefined ? [...sentBytes(pack)] : [];
  const origin = originOfSender(pack);
  const all = { digests: JSON.stringify(sent), origin: origin ?? null };
  const isOfPeer = onlyFromOthers(store.read, all).length + withheldByOthers(store.read, all).length > 0;
  if (!isOfPeer && joined.length === 0) return;
  await store.write((database) => {
    joinFiles(database, joined, 'owner');
    for (const sha256 of isOfPeer ? sent : []) {
      alsoFrom(database, sha256, origin);
      cameFromElsewhere(database, { sha256 });
    }
  });
}

/** Checks the set of a manifest pack whose file is here. @throws Problem like `checkNewSet` */
async function setOfManifest(
  store: Store,
  record: PackRecord,
  { absent, setLimits, staged, from }: Pick<NewPack, 'absent' | 'setLimits' | 'staged' | 'from'>,
): Promise<SetIndex | undefined> {
  const isHere = record.files.every(({ sha256 }) => !absent?.has(sha256));
  const isSent = record.files.every(({ path }) => staged?.has(path));
  return isHere ? checkNewSet(store, record, { isSent, limits: setLimits, origin: from }) : undefined;
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
    } else if (isAbsent(database, sha256)) {
      faults.add('unknown_blob', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: the archive does not have the bytes of ${sha256}. Send the file itself.`,
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

/** @throws Problem `released` with a pointer to each file whose bytes were given up */
function requireNotReleased(database: ReadDatabase, { record, pointerTo }: CheckedRecord): void {
  const faults = new FileFaults();
  const digests = record.files.map(({ sha256 }) => sha256);
  const released = new Set(releasedAmong(database, digests));
  for (const { path, sha256 } of record.files)
    if (released.has(sha256))
      faults.add('released', path, {
        path: pointerTo(path, 'sha256'),
        message: `${path}: this archive gave up the bytes of ${sha256} for good, and takes no pack with them.`,
      });
  faults.throwIfAny();
}

/** @throws Problem `unknown_node`, `unknown_study`, `unknown_pack` */
export function requireReferences(database: ReadDatabase, record: PackRecord): void {
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
  const named = staged.filter(
    ({ sha256 }) => blobBytes(store.read, sha256) !== undefined && !isReleased(store.read, sha256),
  );
  if (named.length === 0) return;
  // One that is offloaded comes back, so that no upload waits for a copy.
  const here = named.filter(({ sha256 }) => store.blobs.offloaded.bytesOf(sha256) === undefined);
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

/** Stores the blobs durably. */
async function storeAll(staged: readonly StagedBlob[]): Promise<void> {
  const atOnce = pLimit(MAX_CONCURRENT_BLOBS);
  const outcomes = await Promise.allSettled(staged.map((blob) => atOnce(() => blob.keep())));
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
  isNamedOnly: (sha256: string) => boolean,
  onRecorded: NonNullable<NewPack['onRecorded']>,
): string | undefined {
  const { digest, id } = checked;
  if (packByDigest(database, digest)) return undefined;
  // A file may have been given up since the first check.
  requireNotReleased(database, checked);
  if (packById(database, id)) {
    throw new Problem(
      'id_taken',
      `Another record has the id ${id}. Change something in this one, for example its summary.`,
    );
  }
  const { seq } = appendEntry(database, { type: 'pack.added', subject: id, digest, at });
  const brought = checked.record.files.filter(({ sha256 }) => !isNamedOnly(sha256));
  insertPackRows(database, checked, seq, at, brought);
  onRecorded(database, seq);
  return newPackText(database, id, checked.text);
}

/** @throws Problem `files_mismatch`, `digest_mismatch` with a pointer to each file that does not match the record. */
export function requireMatchingFiles(
  checked: CheckedRecord,
  staged: ReadonlyMap<string, { sha256: string; bytes: number }>,
): void {
  const faults = new FileFaults();
  const named = new Set(checked.record.files.map(({ path }) => path));
  for (const file of checked.record.files) {
    const blob = staged.get(file.path);
    if (!blob) {
      faults.add('files_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'path'),
        message: `${file.path}: this file is in the record, but was not sent.`,
      });
    } else if (blob.sha256 !== file.sha256) {
      faults.add('digest_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'sha256'),
        message: `${file.path}: the SHA-256 of the file is ${blob.sha256}, but the record says ${file.sha256}.`,
      });
    } else if (blob.bytes !== file.bytes) {
      faults.add('files_mismatch', file.path, {
        path: checked.pointerTo(file.path, 'bytes'),
        message: `${file.path}: the file has ${blob.bytes} bytes, but the record says ${file.bytes}.`,
      });
    }
  }
  for (const path of staged.keys()) {
    if (named.has(path)) continue;
    faults.add('files_mismatch', path, {
      path: '/files',
      message: `${path}: this file was sent, but is not in the record.`,
    });
  }
  faults.throwIfAny();
}

const MAX_REPORTED = 100;

/** Collects faults of a pack's files. The first fault determines the code of the problem; all of them are reported. */
export class FileFaults {
  readonly #errors: FieldError[] = [];
  #first: { code: ProblemCode; path: string } | undefined;

  add(code: ProblemCode, path: string, error: FieldError): void {
    this.#first ??= { code, path };
    if (this.#errors.length < MAX_REPORTED) this.#errors.push(error);
  }

  throwIfAny(): void {
    if (!this.#first) return;
    throw new Problem(this.#first.code, this.#errors[0]?.message ?? '', {
      errors: this.#errors,
      members: { path: this.#first.path },
    });
  }
}
