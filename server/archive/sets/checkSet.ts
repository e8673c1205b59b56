import type { PackRecord } from '../../../shared/archive/pack.ts';
import { SET_FILE } from '../../../shared/archive/setManifest.ts';
import { Problem } from '../../../shared/problems.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { fileOfPack } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { OWNER, type Reader, unreadable } from '../../withholding/withholding.ts';
import { checkJoined, pointerTo, requireNoneReleased, setRefusal } from './joinedFiles.ts';
import { readNewSet } from './readSet.ts';
import type { SetIndex, SetPart } from './setIndex.ts';

/** Looking up this many files takes a few milliseconds. Then other requests have their turn. */
const FILES_AT_ONCE = 500;

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
 * archive, with the stated size and digest, and parts that are joined have the stated digest, as far as that can be known.
 *
 * @param origin the number of the peer from which it is mirrored
 * @param isSent whether the sender has the list. What is wrong with another that he may not read is said without its words.
 * @returns undefined if the pack is no manifest
 * @throws Problem `invalid_set`, `pack_too_large`; `released` for a file that was given up; `unknown_pack` for a part that is not here; `digest_mismatch`
 */
export async function checkNewSet(
  store: DamageContext,
  record: PackRecord,
  {
    isSent,
    limits = NO_LIMITS,
    origin,
  }: { isSent: boolean; limits?: SetLimits | undefined; origin?: number | undefined },
): Promise<SetIndex | undefined> {
  try {
    return await readChecked(store, record, limits, origin);
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
  { maxBytes, mayTakePacks, reader }: SetLimits,
  origin: number | undefined,
): Promise<SetIndex | undefined> {
  const index = await readNewSet(store, record);
  if (!index) return undefined;
  if (index.bytes > maxBytes) throw setTooLarge(index.bytes, maxBytes);
  requireNoneReleased(store.read, index.joined);
  await requireParts(store.read, index, mayTakePacks);
  await checkJoined(store, index, { reader, origin }, (_, problem) => {
    throw problem;
  });
  return index;
}

export function setTooLarge(bytes: number, maxBytes: number): Problem {
  return new Problem(
    'pack_too_large',
    `The files have ${bytes} bytes, and a set can have ${maxBytes}. The setting max_set_gb can allow more.`,
  );
}

async function requireParts(database: ReadDatabase, index: SetIndex, mayTakePacks: boolean): Promise<void> {
  const entries = new Map<string, number>();
  for (const id of index.packs) {
    const pack = packById(database, id);
    if (!pack)
      throw setRefusal('unknown_pack', { path: '', message: `There is no pack ${id} in this archive.` });
    if (pack.part_of === null && !mayTakePacks)
      throw setRefusal('invalid_set', {
        path: '',
        message: `${id} does not say that it is a part of a set. Only the owner of this archive can make it one.`,
      });
    entries.set(id, pack.ledger_entry);
  }
  for (let file = 0; file < index.count; file += 1) {
    if (file % FILES_AT_ONCE === 0) await yieldToEventLoop();
    for (const part of index.partsOf(file)) {
      const fault = faultOf(database, entries.get(part.pack) ?? 0, part);
      if (fault) throw setRefusal('digest_mismatch', { path: pointerTo(index, file), message: fault });
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
