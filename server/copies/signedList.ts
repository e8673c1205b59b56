import { createHash, hash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import {
  FILES,
  isOlder,
  LIST,
  type ListedFile,
  openAnnouncement,
  openList,
  parseLines,
} from '../../shared/proof/ledger/fileList.ts';
import { ifValid, openCheckpoint } from '../../shared/proof/ledger/signedNote.ts';
import { countOf } from '../../shared/values/counts.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { splitLines } from '../dump/dumpFile.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import type { ExpectedFiles } from '../store/sqlite/node/copiedFiles.ts';
import { readCopiedNote } from './claim.ts';
import { CHECKPOINT, CLAIM, LEFT_OUT, statePath } from './copyPaths.ts';
import { type CopyTarget, InvalidCopyError, readBytes } from './targets/target.ts';

/** A list names its parts, a part its files: each is far smaller. */
const MAX_BYTES = 67_108_864;
const MAX_HEADER_BYTES = 65_536;
const MAX_KEY_CHARACTERS = 1_000;
const NEXT = /^files\/next-[0-9a-f]{64}$/;

/** What the list of a copy says, and what is wrong with the list itself. */
export interface ReadList {
  /** `invalid` if no key of the copy signed it for its checkpoint, or it is too large. */
  state: 'valid' | 'missing' | 'invalid';
  /** Whether the list was verified with all its parts, so that everything else can be. */
  isComplete: boolean;
  /** The key that signed it, and the checkpoint. */
  key: string | undefined;
  damaged: string[];
  missing: string[];
}

/**
 * Reads the list of a copy's files: what must be there, and what a sync that was killed may have left. The list must not
 * belong to an older checkpoint than the copy has. It can belong to a newer one, if a sync was killed between the two. It
 * must be signed by the key that signed the checkpoint.
 *
 * @throws CopyError
 */
export async function readFileList(target: CopyTarget, expected: ExpectedFiles): Promise<ReadList> {
  const { note, size } = await readCopiedNote(target);
  const keys = await keysIn(target, statePath(size));
  const result: ReadList = { state: 'missing', isComplete: false, key: undefined, damaged: [], missing: [] };
  const bytes = await readListFile(target, LIST);
  if (!bytes) {
    // A node writes no checkpoint to a copy without the list that belongs to it.
    result.missing.push(LIST);
    return result;
  }
  const checkpoint = firstOf(keys, (key) => ({ key, ...openCheckpoint(note, key, nodeCrypto) }));
  if (!checkpoint) result.damaged.push(CHECKPOINT);
  // Whoever has any other key can sign a list that states this checkpoint.
  const signers = checkpoint ? [checkpoint.key] : keys;
  const list = firstOf(signers, (key) => ({ key, ...openList(bytes.toString(), key, nodeCrypto) }));
  if (!list || (checkpoint && isOlder(list, checkpoint))) {
    result.state = 'invalid';
    result.damaged.push(LIST);
    return result;
  }
  Object.assign(result, { state: 'valid', isComplete: true, key: list.key });
  for (const { path, sha256 } of list.parts) {
    const part = await readListFile(target, path);
    if (part && hash('sha256', part) === sha256)
      for (const file of parseLines(part.toString())) expected.add(file.path, file.sha256);
    else {
      result.isComplete = false;
      (part ? result.damaged : result.missing).push(path);
    }
    expected.allow(path, sha256);
  }
  const listDigest = hash('sha256', bytes);
  expected.allow(LIST, listDigest);
  await readAnnouncements(target, { key: list.key, list: listDigest }, expected);
  return result;
}

/** The keys that a copy names, in its state and in the file that says whose it is. Which of them signed it is verified. */
async function keysIn(target: CopyTarget, state: string): Promise<string[]> {
  const keys: string[] = [];
  for (const path of [state, CLAIM]) {
    const stream = await target.read(path, undefined, { start: 0, end: MAX_HEADER_BYTES - 1 });
    if (!stream) continue;
    const [line = ''] = (await buffer(stream)).toString().split('\n', 1);
    const key = keyOf(line);
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

/** Returns the key that a line names, read as the records and the claim are read. */
function keyOf(line: string): string | undefined {
  try {
    const { key } = Object(JSON.parse(line)) as { key?: unknown };
    return typeof key === 'string' && key.length <= MAX_KEY_CHARACTERS ? key : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/**
 * What a sync was about to write when it was killed. A statement about another list amends nothing. It still says of an
 * object, which has one version only, that the archive sent it.
 */
async function readAnnouncements(
  target: CopyTarget,
  { key, list }: { key: string; list: string },
  expected: ExpectedFiles,
): Promise<void> {
  for await (const { path } of target.list(FILES)) {
    const bytes = NEXT.test(path) ? await readListFile(target, path) : undefined;
    if (!bytes) continue;
    const announced = ifValid(() => openAnnouncement(bytes.toString(), key, nodeCrypto));
    if (!announced) continue;
    expected.allow(path, hash('sha256', bytes));
    for (const { path, sha256 } of announced.files)
      if (announced.amends === list) expected.allow(path, sha256);
      else expected.setSent(path, sha256);
  }
}

/** Reads a file of the list. What is larger than anything a node writes is read as if it were empty. */
export async function readListFile(target: CopyTarget, path: string): Promise<Buffer | undefined> {
  try {
    return await readBytes(target, path, MAX_BYTES);
  } catch (error) {
    if (error instanceof InvalidCopyError) return Buffer.alloc(0);
    throw error;
  }
}

function firstOf<Result>(keys: readonly string[], open: (key: string) => Result): Result | undefined {
  for (const key of keys) {
    const opened = ifValid(() => open(key));
    if (opened) return opened;
  }
  return undefined;
}

/** What was read of a copy, and which of it no signature covers. */
export interface SignedCoverage {
  list: ReadList['state'];
  /** Files that are not as the signed list says, sorted; all that were read if there is no list. */
  uncovered: string[];
}

/** A list that cannot be read covers nothing. */
export const UNREADABLE_LIST = { state: 'invalid', key: undefined } as const;

/** Returns which of these files the list does not cover. @param key the key that must have signed the list */
export function coverageOf(
  files: readonly ListedFile[],
  { state, key: signer }: Pick<ReadList, 'state' | 'key'>,
  expected: ExpectedFiles,
  key: string,
): SignedCoverage {
  const list = state === 'valid' && signer !== key ? 'invalid' : state;
  const isCovered = ({ path, sha256 }: ListedFile) =>
    list === 'valid' && (expected.isExpected(path, sha256) || expected.isAllowed(path, sha256));
  return {
    list,
    uncovered: files
      .filter((file) => !isCovered(file))
      .map(({ path }) => path)
      .sort(),
  };
}

/** Says in one sentence that something was read that no signature covers; undefined if a signature covers all of it. */
export function coverageSentence(
  { list, uncovered }: SignedCoverage,
  { name }: Pick<CopyTarget, 'name'>,
): string | undefined {
  if (uncovered.length === 0) return undefined;
  const why = {
    missing: `The copy in ${name} has no signed list of its files`,
    invalid: `The list of files in ${name} cannot be read, or is not the one that the key signed for its checkpoint`,
    valid: `${countOf(uncovered.length, 'file')} in ${name} differ${uncovered.length === 1 ? 's' : ''} from the signed list`,
  }[list];
  return `${why}: no signature covers the sources, the rounds and the cases, so they may have been changed.`;
}

/** The objects that a copy says it does not have, because they are withheld, and the digest of the file that says so. */
export interface LeftOut {
  digests: ReadonlySet<string>;
  sha256: string;
}

/** Reads which withheld objects a copy does not have; undefined if it does not say. Whether that is signed is not checked. */
export async function readLeftOut(target: CopyTarget, signal?: AbortSignal): Promise<LeftOut | undefined> {
  const stream = await target.read(LEFT_OUT, signal);
  if (!stream) return undefined;
  const hash = createHash('sha256');
  async function* hashed() {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const digests = new Set<string>();
  for await (const line of splitLines(hashed())) {
    const text = line.toString('latin1');
    if (isDigest(text)) digests.add(text);
  }
  return { digests, sha256: hash.digest('hex') };
}
