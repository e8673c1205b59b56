import { SET_FILE } from '../../../shared/archive/setManifest.ts';
import { type FieldError, jsonPointer, Problem, type ProblemCode } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext } from '../../fixity/audit.ts';
import { hashJoined } from '../../hashing/hashFiles.ts';
import { type JoinedPart, partsOfJoined } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { areOnlyFrom } from '../../store/sqlite/node/peerOrigins.ts';
import { releasedAmong } from '../../store/sqlite/node/withheld.ts';
import { OWNER, type Reader, unreadableAmong } from '../../withholding/withholding.ts';
import type { SetIndex } from './setIndex.ts';

/*
 * A file is withheld together with its parts, so a false list could hide any object that it names. A list is accepted if the
 * joined bytes of the parts have the digest of the file. If some of the bytes cannot be read, it is accepted in three cases:
 * the parts of the file are known already, the owner sends the list, or the file and its parts came only from the sending peer.
 */

/** The bytes that are hashed in one message to a thread. */
const BYTES_AT_ONCE = 268_435_456;

/** The sender of a list: the peer with this number, or else the client of this node. */
export interface SetSender {
  reader: Reader;
  origin?: number | undefined;
}

/** Called with the number of a file whose parts are not accepted, and with the reason. */
type OnFault = (file: number, problem: Problem) => void;

/** Checks what a set says of its files that are in several parts. The bytes are hashed in a thread. */
export async function checkJoined(
  store: DamageContext,
  index: SetIndex,
  sender: SetSender,
  onFault: OnFault,
): Promise<void> {
  for (const files of readableFiles(store.read, index, sender, onFault)) {
    const parts = files.map((file) => index.partsOf(file));
    const found = await hashJoined(store.blobs, parts);
    for (const [place, { sha256, blobs }] of found.entries()) {
      const file = files[place] ?? 0;
      const expected = parts[place] ?? [];
      const damaged = expected.map((part) => part.sha256).filter((digest, part) => blobs[part] !== digest);
      if (damaged.length > 0) {
        await confirmDamage(store, damaged);
        onFault(file, damagedParts(index.pathOf(file)));
      } else if (sha256 !== index.sha256Of(file)) {
        const message = `The parts of ${index.pathOf(file)} have the SHA-256 ${sha256}, not the stated one.`;
        onFault(file, setRefusal('digest_mismatch', { path: pointerTo(index, file), message }));
      }
    }
  }
}

function damagedParts(path: string): Problem {
  return new Problem('blob_damaged', `The stored parts of ${path} are damaged. Send them again.`);
}

/**
 * Yields the files that have several parts and whose bytes can all be read, in groups that are hashed together. The other files
 * are checked at once.
 */
function* readableFiles(
  database: ReadDatabase,
  index: SetIndex,
  sender: SetSender,
  onFault: OnFault,
): Generator<number[]> {
  let group: number[] = [];
  let bytes = 0;
  for (let file = 0; file < index.count; file += 1) {
    const parts = index.partsOf(file).map(({ sha256 }) => sha256);
    if (parts.length < 2) continue;
    if (unreadableAmong(database, parts, OWNER).size > 0) {
      const problem = faultOfClaim(database, index, file, sender);
      if (problem) onFault(file, problem);
      continue;
    }
    group.push(file);
    bytes += index.bytesOf(file);
    if (bytes < BYTES_AT_ONCE) continue;
    yield group;
    [group, bytes] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** Returns why the parts of a file are not accepted without their bytes, or undefined. */
function faultOfClaim(
  database: ReadDatabase,
  index: SetIndex,
  file: number,
  { reader, origin }: SetSender,
): Problem | undefined {
  const [whole, path] = [index.sha256Of(file), pointerTo(index, file)];
  const held = blobBytes(database, whole);
  if (held !== undefined && held !== index.bytesOf(file)) {
    const message = `${index.pathOf(file)} has ${index.bytesOf(file)} bytes, and ${whole} has ${held}.`;
    return setRefusal('digest_mismatch', { path, message });
  }
  const parts = partDigests(index, file);
  const isAccepted = origin === undefined ? reader.owner : isOfPeerAlone(database, whole, parts, origin);
  if (isAccepted || areJoined(database, whole, parts)) return undefined;
  const message = `Some parts of ${index.pathOf(file)} cannot be read here, so nobody can check that they are the file.`;
  return setRefusal('invalid_set', { path, message });
}

/** Returns the digests of the parts of a file that have bytes. */
export function partDigests(index: SetIndex, file: number): string[] {
  return index
    .partsOf(file)
    .filter(({ bytes }) => bytes > 0)
    .map(({ sha256 }) => sha256);
}

/** Returns whether it is known already that a file has these parts. */
export function areJoined(database: ReadDatabase, whole: string, parts: readonly string[]): boolean {
  const known = new Set(partsOfJoined(database, whole));
  return parts.every((part) => known.has(part));
}

/** Returns whether all that is here of a file and of these parts came from one peer alone. */
export function isOfPeerAlone(
  database: ReadDatabase,
  whole: string,
  parts: readonly string[],
  origin: number,
): boolean {
  const digests = new Set([whole, ...parts, ...partsOfJoined(database, whole)]);
  const here = [...digests].filter((sha256) => blobBytes(database, sha256) !== undefined);
  return areOnlyFrom(database, here, origin);
}

/** Requires that no file was released: its parts have other digests and the same bytes. @throws Problem `released` */
export function requireNoneReleased(database: ReadDatabase, joined: readonly JoinedPart[]): void {
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

/** The place of a file cannot be told, because the index is sorted. Its path can. */
export function pointerTo(index: SetIndex, file: number): string {
  return jsonPointer(['files', index.pathOf(file)]);
}

/** The refusal of a list. */
export function setRefusal(code: ProblemCode, error: FieldError): Problem {
  return new Problem(code, `${SET_FILE}: ${error.message}`, { errors: [error] });
}
