import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../shared/values/errorCode.ts';
import { databaseFile, syncFolder, writeFileDurably } from '../store/files.ts';
import { lockFolder } from '../store/opening/folderLock.ts';
import { removeMarked } from '../store/opening/movedFolder.ts';

/*
 * The sample archive has its own data folder, next to the person's archive. The two cannot mix. The
 * mark in it says that it is a sample, and whether it is complete. A complete one is opened instead of the own archive. One
 * that is not complete was never finished, or is being removed: it is never opened.
 */
const MARK = 'sample.json';
const markSchema = z.strictObject({ sample: z.literal(1), complete: z.boolean() });

/** Returns the folder of the sample beside an archive. */
export function sampleFolder(own: string): string {
  return `${own} sample`;
}

/** Returns whether there is a complete sample beside an archive. */
export function hasSample(own: string): boolean {
  return readMark(sampleFolder(own))?.complete === true;
}

/** Returns whether a folder carries the mark of a sample. */
export function isSample(folder: string): boolean {
  return readMark(folder) !== undefined;
}

/**
 * Creates the folder of the sample with its mark, before anything else is in it. What an earlier attempt left is removed.
 *
 * @throws Error if another folder or file is there
 */
export async function beginSample(own: string): Promise<string> {
  const folder = sampleFolder(own);
  await removeSample(own);
  try {
    await mkdir(folder);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    if (!(await isLeftEmpty(folder)))
      throw new Error(`${folder} is there and is not a sample archive. Rename it.`, { cause: error });
  }
  await writeMark(folder, false);
  await syncFolder(dirname(folder));
  return folder;
}

/** Whether a folder is what a process leaves that ends right before it writes the mark, or right after it removed it. */
async function isLeftEmpty(folder: string): Promise<boolean> {
  if (!lstatSync(folder).isDirectory()) return false;
  return (await readdir(folder)).every((name) => name === `${MARK}.tmp`);
}

/** From now on the sample is opened instead of the own archive. */
export async function completeSample(own: string): Promise<void> {
  await writeMark(sampleFolder(own), true);
}

/** From now on the own archive is opened. The sample can still be open; `removeSample` removes it once it is closed. */
export async function giveUpSample(own: string): Promise<void> {
  if (isSample(sampleFolder(own))) await writeMark(sampleFolder(own), false);
}

/**
 * Removes the folder beside an archive if it carries the mark of a sample and is nothing else: not a link, and not open.
 *
 * @throws FolderInUseError, and what the system throws
 */
export async function removeSample(own: string): Promise<void> {
  const folder = sampleFolder(own);
  if (!isSample(folder)) return;
  // Otherwise a removal that is interrupted would leave a part of an archive that would be opened.
  await writeMark(folder, false);
  // Without a database it is what an interrupted removal left.
  if (existsSync(databaseFile(folder))) lockFolder(folder).release();
  await removeMarked(folder, MARK);
}

function writeMark(folder: string, complete: boolean): Promise<void> {
  return writeFileDurably(join(folder, MARK), `${JSON.stringify({ sample: 1, complete })}\n`, 0o600);
}

/** The mark of a folder; undefined if it has none that can be read, or is a link. */
function readMark(folder: string): z.output<typeof markSchema> | undefined {
  const file = join(folder, MARK);
  try {
    if (!lstatSync(folder).isDirectory() || !lstatSync(file).isFile()) return undefined;
    return markSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    // Nothing is opened or removed because of it, and the own archive can be opened whatever is beside it.
    return undefined;
  }
}
