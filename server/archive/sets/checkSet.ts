import type { PackRecord } from '../../../shared/archive/pack.ts';
import { SET_FILE } from '../../../shared/archive/setManifest.ts';
import { type FieldError, jsonPointer, Problem, type ProblemCode } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext } from '../../fixity/audit.ts';
import { hashJoined } from '../../hashing/hashFiles.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { fileOfPack, type JoinedPart } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { releasedAmong } from '../../store/sqlite/node/withheld.ts';
import { OWNER, type Reader, unreadable, unreadableAmong } from '../../withholding/withholding.ts';
import { readNewSet } from './readSet.ts';
import type { SetIndex, SetPart } from './setIndex.ts';

/** Looking up this many files takes a few milliseconds. Then other requests have their turn. */
const FILES_AT_ONCE = 500;
/** The bytes that are hashed in one message to a thread. */
const BYTES_AT_ONCE = 268_435_456;

/** What a sender may make a set of. */
export interface SetLimits {
  /** The largest size of its files. */
  maxBytes: number;
  /** Whether packs that do not say that they are parts may become parts, so that no list has them any more. */
  mayTakePacks: boolean;
  /** Who sends it. */
  reader: Reader;
}

/** What the owner, and those whom the owner mirrors, may do. The size of their sets is limited elsewhere. */
const NO_LIMITS: SetLimits = { maxBytes: Number.POSITIVE_INFINITY, mayTakePacks: true, reader: OWNER };

/**
 * Checks the set of a record that is being added, whose file is on stable storage: every part is a file of a pack of this
 * archive, with the stated size and digest, and parts that are joined have the stated digest. These are hashed in a
 * thread. Parts whose bytes are withheld by a peer or were given up cannot be hashed.
 *
 * @param isSent whether the sender has the list. What is wrong with another that he may not read is said without its words.
 * @returns undefined if the pack is no manifest
 * @throws Problem `invalid_set`, `pack_too_large`; `released` for a file that was given up; `unknown_pack` for a part that is not here; `digest_mismatch`
 */
export async function checkNewSet(
  store: DamageContext,
  record: PackRecord,
  { isSent, limits = NO_LIMITS }: { isSent: boolean; limits?: SetLimits | undefined },
): Promise<SetIndex | undefined> {
  try {
    return await readChecked(store, record, limits);
  } catch (error) {
    const [file] = record.files;
    const mayKnow = isSent || !file || !unreadable(store.read, file.sha256, limits.reader);
    if (mayKnow || !(error instanceof Problem)) throw error;
    throw new Problem(
      error.code,
      `${SET_FILE}: this list cannot be used. It is not shown, so it is not said why.`,
    );
  }
}

async function readChecked(
  store: DamageContext,
  record: PackRecord,
  { maxBytes, mayTakePacks }: SetLimits,
): Promise<SetIndex | undefined> {
  const index = await readNewSet(store, record);
  if (!index) return undefined;
  if (index.bytes > maxBytes) throw setTooLarge(index.bytes, maxBytes);
  requireSetNotReleased(store.read, index.joined);
  await requireParts(store.read, index, mayTakePacks);
  await requireDigests(store, index);
  return index;
}

export function setTooLarge(bytes: number, maxBytes: number): Problem {
  return new Problem(
    'pack_too_large',
    `The files have ${bytes} bytes, and a set can have ${maxBytes}. The setting max_set_gb can allow more.`,
  );
}

/** Parts have other digests than the file whose bytes they have. @throws Problem `released` */
export function requireSetNotReleased(database: ReadDatabase, joined: readonly JoinedPart[]): void {
  const [released] = releasedAmong(
    database,
    joined.map(([file]) => file),
  );
  if (released !== undefined)
    throw new Problem(
      'released',
      `This archive gave up the bytes of ${released} for good, and takes no set with them.`,
    );
}

async function requireParts(database: ReadDatabase, index: SetIndex, mayTakePacks: boolean): Promise<void> {
  const entries = new Map<string, number>();
  for (const id of index.packs) {
    const pack = packById(database, id);
    if (!pack)
      throw refusal('unknown_pack', { path: '', message: `There is no pack ${id} in this archive.` });
    if (pack.part_of === null && !mayTakePacks)
      throw refusal('invalid_set', {
        path: '',
        message: `${id} does not say that it is a part of a set. Only the owner of this archive can make it one.`,
      });
    entries.set(id, pack.ledger_entry);
  }
  for (let file = 0; file < index.count; file += 1) {
    if (file % FILES_AT_ONCE === 0) await yieldToEventLoop();
    for (const part of index.partsOf(file)) {
      const fault = faultOf(database, entries.get(part.pack) ?? 0, part);
      if (fault) throw refusal('digest_mismatch', { path: pointerTo(index, file), message: fault });
    }
  }
}

function faultOf(database: ReadDatabase, pack: number, part: SetPart): string | undefined {
  const held = fileOfPack(database, pack, part.path);
  if (!held) return `${part.pack} has no file ${part.path}.`;
  if (held.sha256 !== part.sha256) return `${part.path} in ${part.pack} has the SHA-256 ${held.sha256}.`;
  if (held.bytes !== part.bytes) return `${part.path} in ${part.pack} has ${held.bytes} bytes.`;
  return undefined;
}

async function requireDigests(store: DamageContext, index: SetIndex): Promise<void> {
  for (const files of joinedFiles(store.read, index)) {
    const parts = files.map((file) => index.partsOf(file));
    const found = await hashJoined(store.blobs, parts);
    for (const [place, { sha256, blobs }] of found.entries()) {
      const file = files[place] ?? 0;
      const expected = parts[place] ?? [];
      const damaged = expected.map((part) => part.sha256).filter((digest, part) => blobs[part] !== digest);
      if (damaged.length > 0) {
        await confirmDamage(store, damaged);
        throw new Problem(
          'blob_damaged',
          `The stored parts of ${index.pathOf(file)} are damaged. Send them again.`,
        );
      }
      if (sha256 === index.sha256Of(file)) continue;
      const message = `The parts of ${index.pathOf(file)} have the SHA-256 ${sha256}, not the stated one.`;
      throw refusal('digest_mismatch', { path: pointerTo(index, file), message });
    }
  }
}

/** Yields the files of more than one part whose bytes are here, in groups that are hashed together. */
function* joinedFiles(database: ReadDatabase, index: SetIndex): Generator<number[]> {
  let group: number[] = [];
  let bytes = 0;
  for (let file = 0; file < index.count; file += 1) {
    const parts = index.partsOf(file);
    if (parts.length < 2) continue;
    if (
      unreadableAmong(
        database,
        parts.map(({ sha256 }) => sha256),
        OWNER,
      ).size > 0
    )
      continue;
    group.push(file);
    bytes += index.bytesOf(file);
    if (bytes < BYTES_AT_ONCE) continue;
    yield group;
    [group, bytes] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** The place of a file cannot be told, because the index is sorted. Its path can. */
function pointerTo(index: SetIndex, file: number): string {
  return jsonPointer(['files', index.pathOf(file)]);
}

function refusal(code: ProblemCode, error: FieldError): Problem {
  return new Problem(code, `${SET_FILE}: ${error.message}`, { errors: [error] });
}
