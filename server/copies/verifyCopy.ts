import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { LIST, type ListedFile, parseLines, partPath } from '../../shared/proof/ledger/fileList.ts';
import { ifValid } from '../../shared/proof/ledger/signedNote.ts';
import { TILE_WIDTH, type TileAddress, tilePath } from '../../shared/proof/ledger/tree.ts';
import { type Claim, type ClaimId, decide, type Verdict } from '../../shared/proof/verdict.ts';
import { countOf } from '../../shared/values/counts.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { checkDump, type DumpHead, NamedObjects } from '../dump/checkDump.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { entryText } from '../ledger/entry.ts';
import { framedLeaf, GrowingTree, leafHash } from '../ledger/tree.ts';
import { inParallel } from '../runtime/concurrency.ts';
import { ExpectedFiles } from '../store/sqlite/node/copiedFiles.ts';
import { CHECKPOINT, ENCRYPTED, encryptedDigest, LEFT_OUT, OBJECTS, objectPath } from './copyPaths.ts';
import { isLeftBehind } from './leftFiles.ts';
import { assembleDump, folderForLargeFiles } from './restore.ts';
import { type ReadList, readFileList, readLeftOut, readListFile } from './signedList.ts';
import { type CopyTarget, InvalidCopyError } from './targets/target.ts';

/** What verifying a copy found. */
export interface VerifiedCopy {
  /** Whether the verdict is `intact`. */
  ok: boolean;
  verdict: Verdict;
  claims: readonly Claim<ClaimId<'copy'>>[];
  /** undefined if the records could not be verified because files are damaged or missing. */
  head: DumpHead | undefined;
  /** Why the records could not be verified. */
  invalid: Error | undefined;
  objects: number;
  bytes: number;
  /** Objects that the records name and that the copy leaves out, because they are withheld. The signed list says which. */
  withheld: number;
  /** Objects that the ledger records as given up. The copy need not hold them. */
  released: number;
  /** Objects by their digest, and other files by their path. */
  damaged: string[];
  missing: string[];
  /** Whatever no node wrote there: files, links, pipes. They are only known if the list is complete. */
  extra: string[];
  /** Files that have the bytes of an object that is withheld from readers, or was given up. */
  exposed: string[];
  /** Files that look like leftovers of systems and interrupted syncs, and empty folders. They are no part of the archive. */
  notes: string[];
}

/** What is claimed of a copy, from what was found in it. */
function claimsOf(
  { head, invalid, damaged, missing, extra, exposed, notes, objects }: VerifiedCopy,
  { isComplete }: ReadList,
): VerifiedCopy['claims'] {
  const wrong = [...damaged, ...missing];
  const wrongObjects = wrong.filter(isDigest).length;
  const wrongFiles = wrong.length - wrongObjects + extra.length + exposed.length;
  const claim = (id: ClaimId<'copy'>, name: string, holds: boolean, detail = ''): Claim<ClaimId<'copy'>> => ({
    id,
    name,
    state: holds ? 'holds' : 'fails',
    detail,
  });
  const why = invalid?.message ?? '';
  return [
    claim('key', 'The key is well formed.', head !== undefined, head?.verifierKey ?? why),
    claim('checkpoint', 'The key signed the checkpoint.', head !== undefined, why),
    claim('records', 'Every record is the one that its ledger entry covers.', head !== undefined, why),
    claim('list', 'The same key signed a list of all files for this checkpoint.', isComplete),
    claim(
      'files',
      notes.length === 0
        ? 'Every file is in the list, and nothing else is there.'
        : 'Every file is in the list, but those that look left behind.',
      wrongFiles === 0,
    ),
    ...(notes.length === 0
      ? []
      : [
          {
            id: 'stated' as const,
            name: 'The other files were left by an operating system or an interrupted sync.',
            state: 'claimed' as const,
            detail: `Only names and first bytes say so, and no signature covers them: ${countOf(notes.length, 'file or folder', 'files or folders')}.`,
          },
        ]),
    claim('objects', 'Every object that the records name has its digest.', wrongObjects === 0, `${objects}`),
    {
      id: 'stated',
      name: 'Sources, rounds and cases are as the archive wrote them.',
      state: 'claimed',
      detail: 'The key signed their digest in the list. No ledger entry covers them.',
    },
  ];
}

interface Run {
  signal: AbortSignal;
  progress: (bytes: number) => void;
}

/**
 * Verifies a copy without a node: the signature of its checkpoint, every record against its ledger entry, every tile
 * against the entries, every object that the records name against its digest, and every other file against the signed list,
 * which every copy has. Whatever else is there is named. Objects that the ledger records as damaged may be missing; those
 * that it records as released, or that the copy leaves out, must not be there.
 *
 * @throws CopyError, DumpError
 */
export async function verifyCopy(target: CopyTarget, run: Run): Promise<VerifiedCopy> {
  const folder = await mkdtemp(join(folderForLargeFiles(), 'strongroom-copy-'));
  const expected = new ExpectedFiles(join(folder, 'expected.db'));
  try {
    const list = await readFileList(target, expected);
    const result: VerifiedCopy = {
      ok: false,
      verdict: 'unknown',
      claims: [],
      head: undefined,
      invalid: undefined,
      objects: 0,
      bytes: 0,
      withheld: 0,
      released: 0,
      damaged: [...list.damaged],
      missing: [...list.missing],
      extra: [],
      exposed: [],
      notes: [],
    };
    try {
      const { chunks } = await assembleDump(target, folder, run.signal);
      const { head, released } = await readDump(chunks, expected);
      result.head = head;
      result.released = released;
      // Else a stranger could sign the checkpoint beside the node, and the list alone.
      if (list.state === 'valid' && list.key !== head.verifierKey) {
        list.isComplete = false;
        result.damaged.push(LIST);
      }
    } catch (error) {
      if (!(error instanceof DumpError || error instanceof InvalidCopyError)) throw error;
      result.invalid = error;
    }
    result.withheld = await expectLeftOut(target, { expected, list, signal: run.signal });
    await compare(target, expected, result, run);
    if (list.isComplete) await findExtra(target, { expected, result, ...run });
    const { invalid, damaged, missing, extra, exposed } = result;
    // A file that differs says more than what its records are found to lack.
    if (invalid && damaged.length + missing.length + extra.length === 0) throw invalid;
    for (const each of [damaged, missing, extra, exposed, result.notes]) each.sort();
    result.claims = claimsOf(result, list);
    result.verdict = decide('copy', result.claims).verdict;
    result.ok = result.verdict === 'intact';
    return result;
  } finally {
    expected.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Expects no object that the copy says it leaves out, unless a sync was about to send it. The list must cover the file that
 * says so. Returns the number of those that the records name.
 */
async function expectLeftOut(
  target: CopyTarget,
  { expected, list, signal }: { expected: ExpectedFiles; list: ReadList; signal: AbortSignal },
): Promise<number> {
  const digests: string[] = [];
  const read = await readLeftOut(target, signal);
  // A sync that is killed may leave a newer file, or one that the list no longer names, which says nothing any more.
  const isCovered = (sha256: string) =>
    expected.has(LEFT_OUT) && (expected.isExpected(LEFT_OUT, sha256) || expected.isAllowed(LEFT_OUT, sha256));
  // Without the list it cannot be verified, but then the copy is not intact in any case.
  if (read && (!list.isComplete || isCovered(read.sha256))) digests.push(...read.digests);
  for (const { path } of expected.below(ENCRYPTED)) digests.push(encryptedDigest(path) ?? '');
  let count = 0;
  for (const sha256 of digests) {
    const path = objectPath(sha256);
    if (expected.has(path)) count += 1;
    expected.remove(path);
    expected.forbid(sha256);
  }
  return count;
}

/** Hashes all files that must be there. */
async function compare(
  target: CopyTarget,
  expected: ExpectedFiles,
  result: VerifiedCopy,
  { signal, progress }: Run,
): Promise<void> {
  await inParallel(expected, target.concurrency, async ({ path, sha256 }) => {
    signal.throwIfAborted();
    const isObject = path === objectPath(sha256 ?? '');
    const found = await target.digestOf(path, signal, progress);
    const name = nameOf(path);
    if (!found) result.missing.push(name);
    else if (found.sha256 !== sha256 && !expected.isAllowed(path, found.sha256)) result.damaged.push(name);
    if (!isObject) return;
    result.objects += 1;
    result.bytes += found?.bytes ?? 0;
  });
}

/** Finds what no node wrote there, and what must not be there in the clear. */
async function findExtra(
  target: CopyTarget,
  { expected, result, signal }: Run & { expected: ExpectedFiles; result: VerifiedCopy },
): Promise<void> {
  const missing = new Set(result.missing);
  for await (const { path, is } of target.entries(signal)) {
    const isUnnamed = path !== CHECKPOINT && !expected.has(path);
    if (is === 'folder') result.notes.push(path);
    else if (is === 'other') {
      // A link in place of a file is named as that missing file.
      if (isUnnamed || !missing.has(nameOf(path))) result.extra.push(path);
    } else if (isUnnamed) await judgeUnnamed(target, path, { expected, result, signal });
  }
}

/** Judges a file that neither the records nor the list name. */
async function judgeUnnamed(
  target: CopyTarget,
  path: string,
  { expected, result, signal }: Pick<Run, 'signal'> & { expected: ExpectedFiles; result: VerifiedCopy },
): Promise<void> {
  const { sha256 = '', bytes = 0 } = (await target.digestOf(path, signal)) ?? {};
  const object = objectPath(sha256);
  if (expected.isAllowed(path, sha256)) return;
  // A sync sends in the clear what is shown again.
  const isForbidden = expected.isForbidden(sha256) && !expected.isAllowed(object, sha256);
  if (bytes > 0 && isForbidden) result.exposed.push(path);
  else if (path === object && (result.invalid || expected.wasSent(path, sha256))) return;
  // Without the records it is not known which objects belong here.
  else if (result.invalid && nameOf(path) !== path) result.damaged.push(nameOf(path));
  else if ((await isLeftBehind(target, path)) || (await isFormerPart(target, { path, sha256 })))
    result.notes.push(path);
  else result.extra.push(path);
}

/** Whether a file is a part of a list, which a sync that was killed leaves: nothing but digests and paths. */
async function isFormerPart(target: CopyTarget, { path, sha256 }: ListedFile): Promise<boolean> {
  if (path !== partPath(sha256)) return false;
  const part = await readListFile(target, path);
  return part !== undefined && ifValid(() => parseLines(part.toString())) !== undefined;
}

/** An object is named by its digest, another file by its path. */
function nameOf(path: string): string {
  const name = path.slice(OBJECTS.length);
  return isDigest(name) && path.startsWith(OBJECTS) ? name : path;
}

/**
 * Checks a dump and adds its tiles, and the objects that its records name, but those that it records as damaged, as
 * released or as never received.
 */
async function readDump(
  dump: AsyncIterable<Buffer>,
  expected: ExpectedFiles,
): Promise<{ head: DumpHead; released: number }> {
  const tiles = new TileDigests();
  const named = new NamedObjects((sha256) => expected.add(objectPath(sha256), sha256));
  const lines = checkDump(dump);
  let step = await lines.next();
  for (; !step.done; step = await lines.next()) {
    const { kind, value } = step.value;
    if (kind === 'entry') tiles.add(value as unknown as LedgerEntry);
    else named.add(step.value);
  }
  for (const sha256 of named.withoutBytes()) {
    expected.remove(objectPath(sha256));
    if (named.released.has(sha256)) expected.forbid(sha256);
    else expected.allow(objectPath(sha256), sha256);
  }
  for (const { path, sha256 } of tiles.finish()) expected.add(path, sha256);
  return { head: step.value, released: named.released.size };
}

/** A tile as it must be. */
interface TileDigest {
  path: string;
  sha256: string;
}

/** The parts of the tile that is being filled, and the number of full ones before it. */
interface Filling {
  index: number;
  parts: Buffer[];
}

/** Makes the tiles of a log from its entries, without a node. Only their digests are kept. */
export class TileDigests {
  readonly #entries: Filling = { index: 0, parts: [] };
  readonly #levels: Filling[] = [];
  readonly #tiles: TileDigest[] = [];

  /** Called with each entry of the ledger, in order. */
  add(entry: LedgerEntry): void {
    const leaf = entryText(entry);
    this.#entries.parts.push(framedLeaf(leaf));
    if (this.#entries.parts.length === TILE_WIDTH) this.#complete('entries', this.#entries);
    this.#addHash(0, leafHash(leaf));
  }

  #addHash(level: number, added: Buffer): void {
    const filling = (this.#levels[level] ??= { index: 0, parts: [] });
    filling.parts.push(added);
    if (filling.parts.length < TILE_WIDTH) return;
    const tree = new GrowingTree();
    for (const part of filling.parts) tree.append(part);
    this.#complete(level, filling);
    this.#addHash(level + 1, tree.root());
  }

  #complete(level: TileAddress['level'], filling: Filling): void {
    const path = tilePath({ level, index: filling.index, width: filling.parts.length });
    this.#tiles.push({ path, sha256: hash('sha256', Buffer.concat(filling.parts)) });
    filling.index += 1;
    filling.parts = [];
  }

  /** Returns all tiles, the partial ones last. */
  finish(): TileDigest[] {
    if (this.#entries.parts.length > 0) this.#complete('entries', this.#entries);
    for (const [level, filling] of this.#levels.entries())
      if (filling.parts.length > 0) this.#complete(level, filling);
    return this.#tiles;
  }
}
