import type {
  Marks,
  NewShowing,
  NewWithholding,
  Shown,
  WithheldReason,
  Withholding,
} from '../../shared/node/withheld.ts';
import { Problem } from '../../shared/problems.ts';
import { appendEntry, nextSeq } from '../ledger/appendEntry.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import { type RecordedSubjects, subjectsOf } from '../ledger/verifyLedger.ts';
import { isJoined } from '../store/sqlite/archive/sets.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { deletePeerWord } from '../store/sqlite/node/peerOrigins.ts';
import { absentAmong, absentObject } from '../store/sqlite/node/peers.ts';
import {
  currentWithholding,
  hidings,
  insertShowing,
  insertWithholding,
  isMarked,
  isMarkedOrAbsent,
  isPack,
  isPage,
  isRetrievalWithObject,
  iterateReleases,
  iterateShowings,
  iterateWithholdings,
  releasedAmong,
  releaseOf,
  type WithholdingRow,
  withheldAmong,
  withholdingByEntry,
  withholdingOf,
} from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';

/** What is withheld and what was given up, and of what. It is public. */
export {
  releasesPage as listReleases,
  withheldObjectsPage as listWithheldObjects,
  withheldState as readWithheldState,
  withholdingsPage as listWithholdings,
} from '../store/sqlite/node/withheld.ts';

/*
 * Who may read which bytes. This is the one rule: everything that gives out bytes, or what was made of them, asks here.
 * Records, digests, events and proofs stay public.
 */

/** Who asks for bytes: the owner, or anybody else. What is written where others can read it is read as a visitor. */
export interface Reader {
  owner: boolean;
}
export const OWNER: Reader = { owner: true };
export const VISITOR: Reader = { owner: false };

/**
 * Requires that a reader may read the bytes of a digest.
 *
 * @throws Problem `released`, for everybody; `withheld`, for visitors, with the reason and since when; `not_found` if they never came
 */
export function requireReadable(read: ReadDatabase, sha256: string, reader: Reader): void {
  const problem = unreadable(read, sha256, reader);
  if (problem) throw problem;
}

/** Returns why a reader may not read the bytes of a digest, or undefined. */
export function unreadable(read: ReadDatabase, sha256: string, { owner }: Reader): Problem | undefined {
  if (!isMarkedOrAbsent(read, { sha256 })) return undefined;
  const release = releaseOf(read, sha256);
  if (release) {
    const { reason, at } = release;
    return new Problem(
      'released',
      `These bytes were given up on ${dayOf(at)}. The record and the digest remain.`,
      {
        members: { reason, since: at },
      },
    );
  }
  const withholding = withholdingOf(read, sha256);
  if (!withholding) return notHere(owner);
  return owner ? notReceived(read, sha256) : withheld(withholding);
}

/** Bytes that a peer or a restored copy did not give, and that are shown again before they came from elsewhere. */
function notHere(isOwner: boolean): Problem {
  const hint = isOwner ? ' Add a copy that has them and check it, or upload the same file.' : '';
  return new Problem('not_found', `These bytes are not here. The record and the digest remain.${hint}`);
}

/** Why not even the owner can read bytes that a peer did not give. Visitors may not read them anyway. */
function notReceived(read: ReadDatabase, sha256: string): Problem | undefined {
  const absent = absentObject(read, sha256);
  if (!absent) return undefined;
  const { peer, state, reason, since } = absent;
  const what = state === 'withheld' ? 'does not show these bytes since' : 'gave these bytes up on';
  return new Problem(
    state,
    `The bytes are not here: ${peer} ${what} ${dayOf(since)}. The record and the digest remain.`,
    { members: { reason, since } },
  );
}

/** Returns those of these digests whose bytes a reader may not read. */
export function unreadableAmong(
  read: ReadDatabase,
  digests: readonly string[],
  { owner }: Reader,
): Set<string> {
  const withheld = owner ? [] : withheldAmong(read, digests);
  return new Set([...releasedAmong(read, digests), ...absentAmong(read, digests), ...withheld]);
}

/** Returns whether a reader may read the bytes of all these digests. */
export function areReadable(read: ReadDatabase, digests: readonly string[], reader: Reader): boolean {
  return unreadableAmong(read, digests, reader).size === 0;
}

/**
 * Requires that a reader may read the bytes of all these digests, such as the two that a diff compares.
 *
 * @throws Problem like `requireReadable`, of the first that the reader may not read
 */
export function requireAllReadable(read: ReadDatabase, digests: readonly string[], reader: Reader): void {
  const unreadableDigests = unreadableAmong(read, digests, reader);
  const first = digests.find((sha256) => unreadableDigests.has(sha256));
  if (first !== undefined) requireReadable(read, first, reader);
}

/**
 * Returns what a description of an object says about its bytes: `withheld` from visitors, or `released`. The reason and
 * since when are public.
 */
export function marksOf(read: ReadDatabase, sha256: string | null): Marks {
  if (sha256 === null || !isMarked(read, { sha256 })) return {};
  const release = releaseOf(read, sha256);
  if (release) return { released: { reason: release.reason, since: release.at } };
  const withholding = withholdingOf(read, sha256);
  return withholding ? { withheld: { reason: withholding.reason, since: withholding.at } } : {};
}

/** Returns why visitors may not read the first of these digests that is withheld, or undefined. */
export function reasonAmong(read: ReadDatabase, digests: readonly string[]): WithheldReason | undefined {
  const [first] = withheldAmong(read, digests);
  return first === undefined ? undefined : withholdingOf(read, first)?.reason;
}

function withheld({ reason, at }: Pick<WithholdingRow, 'reason' | 'at'>): Problem {
  return new Problem(
    'withheld',
    `The owner of this archive does not show these bytes to visitors since ${dayOf(at)}. The record and the digest remain.`,
    { members: { reason, since: at } },
  );
}

function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** The digest that an entry `object.withheld` records. */
export const withholdingDigest: (row: Omit<WithholdingRow, 'ledger_entry'>) => string = fingerprintOver([
  'sha256',
  'retrieval',
  'pack',
  'page',
  'reason',
  'note',
  'at',
]);

/** The digest that an entry `object.shown` records; `withheld` is the number of the entry `object.withheld`. */
export const showingDigest: (shown: Omit<Shown, 'ledger_entry'>) => string = fingerprintOver([
  'withheld',
  'at',
]);

/** The digest that an entry `object.released` records. */
export const releaseDigest: (release: {
  sha256: string;
  bytes: number;
  reason: string;
  note: string | null;
  at: string;
}) => string = fingerprintOver(['sha256', 'bytes', 'reason', 'note', 'at']);

/** Recomputes the digests of what was withheld, shown again and released, for the verification of the ledger. */
export const WITHHOLDING_SUBJECTS: readonly RecordedSubjects[] = [
  subjectsOf('object.withheld', iterateWithholdings, withholdingDigest),
  subjectsOf('object.shown', iterateShowings, showingDigest),
  subjectsOf('object.released', iterateReleases, releaseDigest),
];

/** What is withheld: one of the members is not null. */
export type Target = Pick<WithholdingRow, 'sha256' | 'retrieval' | 'pack' | 'page'>;

export function targetOf({ sha256, retrieval, pack, page }: Partial<Target> | NewShowing): Target {
  return { sha256: sha256 ?? null, retrieval: retrieval ?? null, pack: pack ?? null, page: page ?? null };
}

/** The subject of the entries about a target. */
export function subjectOf({ sha256, retrieval, pack, page }: Target): string {
  return sha256 ?? pack ?? page ?? `retrieval:${retrieval}`;
}

/**
 * Withholds bytes like `withholdNow`, by the word of the owner. Another note replaces the withholding in force, too.
 *
 * @param isAnew whether a withholding that says the same is replaced as well
 */
export function withholdAsOwnerNow(
  database: WriteDatabase,
  requested: NewWithholding,
  at: string,
  { isAnew = false } = {},
): { withholding: Withholding; isNew: boolean } {
  const { reason, note } = requested;
  const made = withholdUnless(
    database,
    requested,
    at,
    (existing) =>
      !isAnew && existing.reason === reason && (note === undefined || note === (existing.note ?? '')),
  );
  // What was withheld because of a peer is the owner's own decision now.
  deletePeerWord(database, made.withholding.ledger_entry);
  return made;
}

/**
 * Withholds bytes in a transaction that is open, so that they are withheld as soon as they are recorded. Returns the
 * withholding in force, and whether it is new: withholding again for the same reason changes nothing, for another reason it
 * replaces the one in force.
 *
 * @throws Problem `unknown_target` if the archive does not hold the target; `released`
 */
export function withholdNow(
  database: WriteDatabase,
  requested: NewWithholding,
  at: string,
): { withholding: Withholding; isNew: boolean } {
  return withholdUnless(database, requested, at, ({ reason }) => reason === requested.reason);
}

/** @param isSame whether nothing is recorded, because the withholding in force says the same */
function withholdUnless(
  database: WriteDatabase,
  { reason, note, ...requested }: NewWithholding,
  at: string,
  isSame: (existing: Withholding) => boolean,
): { withholding: Withholding; isNew: boolean } {
  const target = targetOf(requested);
  requireTarget(database, target);
  const current = currentWithholding(database, target);
  const existing = current === undefined ? undefined : withholdingByEntry(database, current);
  if (existing && isSame(existing)) return { withholding: existing, isNew: false };
  const row: WithholdingRow = { ledger_entry: nextSeq(database), ...target, reason, note: note ?? null, at };
  appendEntry(database, {
    type: 'object.withheld',
    subject: subjectOf(row),
    digest: withholdingDigest(row),
    at,
  });
  insertWithholding(database, row);
  const withholding = withholdingByEntry(database, row.ledger_entry);
  if (!withholding) throw new TypeError('The withholding was not stored.');
  return { withholding, isNew: true };
}

/** Shows bytes to visitors again. @throws Problem `not_found` if no withholding of the target is in force */
export function show(store: Pick<Store, 'write' | 'instant'>, requested: NewShowing): Promise<Shown> {
  return store.write((database) => showNow(database, targetOf(requested), store.instant()));
}

/** Shows bytes again in a transaction that is open. @throws Problem `not_found` */
export function showNow(database: WriteDatabase, target: Target, at: string): Shown {
  const withheldBy = currentWithholding(database, target);
  if (withheldBy === undefined) throw new Problem('not_found', 'This is not withheld.');
  const shown: Shown = { ledger_entry: nextSeq(database), withheld: withheldBy, at };
  appendEntry(database, {
    type: 'object.shown',
    subject: subjectOf(target),
    digest: showingDigest(shown),
    at: shown.at,
  });
  insertShowing(database, shown);
  return shown;
}

/** Returns whether a withholding of exactly this target is in force. */
export function isWithheldNow(database: ReadDatabase, target: Target): boolean {
  return currentWithholding(database, target) !== undefined;
}

function requireTarget(database: ReadDatabase, { sha256, retrieval, pack, page }: Target): void {
  if (sha256 !== null) {
    // A set may have the bytes in parts only.
    if (blobBytes(database, sha256) === undefined && !isJoined(database, sha256))
      throw unknownTarget('sha256', 'The archive has no bytes with this digest.');
    if (releaseOf(database, sha256)) throw new Problem('released', 'These bytes were given up already.');
  }
  if (retrieval !== null && !isRetrievalWithObject(database, retrieval))
    throw unknownTarget('retrieval', `There is no retrieval ${retrieval} with an object.`);
  if (pack !== null && !isPack(database, pack)) throw unknownTarget('pack', `There is no pack ${pack}.`);
  if (page !== null && !isPage(database, page))
    throw unknownTarget('page', `There is no page capture ${page}.`);
}

function unknownTarget(member: string, message: string): Problem {
  return new Problem('unknown_target', message, { errors: [{ path: `/${member}`, message }] });
}

/** To be called before more is sent. @throws what `requireReadable` of its maker throws */
export type StillReadable = () => void | Promise<void>;

/**
 * Returns what ends an answer that is under way when its bytes are withheld or given up: sending them may take hours. As
 * long as nothing was, it costs a look at a counter.
 *
 * @param requireReadable requires that the reader may read all bytes of the answer, as before it began
 */
export function whileReadable(read: ReadDatabase, requireReadable: StillReadable): StillReadable {
  let checked = hidings(read);
  return async () => {
    const now = hidings(read);
    if (now === checked) return;
    await requireReadable();
    checked = now;
  };
}

/**
 * Makes something of bytes, which may take long. What was made of bytes that the reader may not read any more is not
 * returned.
 *
 * @param requireReadable requires that the reader may read all bytes that it is made of
 */
export async function madeOfReadable<Made>(
  requireReadable: () => void,
  make: () => Promise<Made>,
): Promise<Made> {
  requireReadable();
  const made = await make();
  requireReadable();
  return made;
}

/** Yields chunks for as long as they may be read. */
export async function* guarded<Chunk>(
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  stillReadable: StillReadable,
): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    await stillReadable();
    yield chunk;
  }
}
