import { hash } from 'node:crypto';
import {
  FILES,
  isOlder,
  LIST,
  openAnnouncement,
  openList,
  parseLines,
} from '../../../shared/proof/fileList.ts';
import { ifValid, openCheckpoint } from '../../../shared/proof/signedNote.ts';
import { nodeCrypto } from '../../ledger/checkpoint.ts';
import type { ExpectedFiles } from '../../store/sqlite/node/expectedFiles.ts';
import { CHECKPOINT } from '../copyPaths.ts';
import { type CopyTarget, InvalidCopyError, readBytes } from '../targets/target.ts';

/** A list names its parts, a part its files: each is far smaller. */
const MAX_BYTES = 67_108_864;
const NEXT = /^files\/next-[0-9a-f]{64}$/;

/** What the list of a copy says, and what is wrong with the list itself. */
export interface ReadList {
  /** Whether the copy was made with a list. */
  isListed: boolean;
  /** Whether the list was verified, so that everything else can be. */
  isComplete: boolean;
  damaged: string[];
  missing: string[];
}

/**
 * Reads the list of a copy's files: what must be there, and what a sync that was killed may have left. The list must not
 * belong to an older checkpoint than the copy has. It can belong to a newer one, if a sync was killed between the two.
 *
 * @param keys the keys that may have signed the checkpoint; the list must be signed by the same
 * @throws CopyError
 */
export async function readFileList(
  target: CopyTarget,
  { note, keys }: { note: string; keys: readonly string[] },
  expected: ExpectedFiles,
): Promise<ReadList> {
  const result: ReadList = { isListed: true, isComplete: false, damaged: [], missing: [] };
  const bytes = await read(target, LIST);
  if (!bytes) {
    result.isListed = await hasParts(target);
    if (result.isListed) result.missing.push(LIST);
    return result;
  }
  const checkpoint = firstOf(keys, (key) => openCheckpoint(note, key, nodeCrypto));
  if (!checkpoint) result.damaged.push(CHECKPOINT);
  const list = firstOf(keys, (key) => ({ key, ...openList(bytes.toString(), key, nodeCrypto) }));
  if (!list || (checkpoint && isOlder(list, checkpoint))) {
    result.damaged.push(LIST);
    return result;
  }
  result.isComplete = true;
  for (const { path, sha256 } of list.parts) {
    const part = await read(target, path);
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

/** What a sync was about to write when it was killed. A statement about another list is harmless, but amends nothing. */
async function readAnnouncements(
  target: CopyTarget,
  { key, list }: { key: string; list: string },
  expected: ExpectedFiles,
): Promise<void> {
  for await (const { path } of target.list(FILES)) {
    const bytes = NEXT.test(path) ? await read(target, path) : undefined;
    if (!bytes) continue;
    const announced = ifValid(() => openAnnouncement(bytes.toString(), key, nodeCrypto));
    if (!announced) continue;
    expected.allow(path, hash('sha256', bytes));
    if (announced.amends === list) for (const file of announced.files) expected.allow(file.path, file.sha256);
  }
}

async function hasParts(target: CopyTarget): Promise<boolean> {
  for await (const _ of target.list(FILES)) return true;
  return false;
}

/** What is larger than anything a node writes is read as if it were empty. */
async function read(target: CopyTarget, path: string): Promise<Buffer | undefined> {
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
