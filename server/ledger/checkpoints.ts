import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import { isMissing, isNoSpace } from '../store/blobs/fileErrors.ts';
import { type Checkpoint, type NodeKey, signCheckpoint } from './checkpoint.ts';

type Signed = Omit<Checkpoint, 'origin'>;

/** A checkpoint as it lies in a data folder, not yet believed. */
export interface StoredCheckpoint {
  file: string;
  note: string;
}

/** The largest checkpoint that the node has signed; one that was signed beside it has its size in its name. */
const KEPT = /^checkpoint(-\d{1,15})?$/;

function checkpointFile(folder: string): string {
  return join(folder, 'checkpoint');
}

/** The checkpoints that are kept in a data folder. */
export async function readStoredCheckpoints(folder: string): Promise<StoredCheckpoint[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files = names.filter((name) => KEPT.test(name)).map((name) => join(folder, name));
  const notes: StoredCheckpoint[] = [];
  for (const file of files) {
    try {
      notes.push({ file, note: await readFile(file, 'utf8') });
    } catch (error) {
      // A node that was just opened keeps one that is as large.
      if (!isMissing(error)) throw error;
    }
  }
  return notes;
}

export interface CheckpointsConfig {
  folder: string;
  key: NodeKey;
  /** The size of the largest checkpoint by this key that is kept already; -1 where there is none. */
  storedSize: number;
  /** Whether another process has the archive open and keeps its own: then each has a file of its own, named by its size. */
  isSecondary?: boolean;
}

/**
 * Signs checkpoints, and keeps the largest one on stable storage before anybody is given it: a node that was given back
 * an older database must not sign a second history. Requests for what is no larger cost no disk.
 */
export class Checkpoints {
  readonly key: NodeKey;
  readonly #folder: string;
  readonly #isSecondary: boolean;
  #storedSize: number;
  /** What the next round keeps: the largest that was asked for meanwhile. */
  #asked: { size: number; note: string } | undefined;
  #round: Promise<void> | undefined;

  constructor({ folder, key, storedSize, isSecondary = false }: CheckpointsConfig) {
    this.#folder = folder;
    this.key = key;
    this.#storedSize = storedSize;
    this.#isSecondary = isSecondary;
  }

  /**
   * The checkpoint of the ledger of this size, as a signed note.
   *
   * @throws Problem `disk_nearly_full` where it cannot be kept; whatever the disk says
   */
  async sign({ size, root }: Signed): Promise<string> {
    const note = signCheckpoint(this.key, { size, root });
    while (size > this.#storedSize) await this.#keep(size, note);
    return note;
  }

  /** Resolves when a round is over, one at a time, each with the largest that was asked for until it began. */
  async #keep(size: number, note: string): Promise<void> {
    if (size > (this.#asked?.size ?? -1)) this.#asked = { size, note };
    // Whoever waits for a round looks again after it, and hears of a failure by a round of their own.
    if (this.#round) return this.#round.catch(() => {});
    this.#round = this.#keepAsked().finally(() => (this.#round = undefined));
    await this.#round;
  }

  async #keepAsked(): Promise<void> {
    const asked = this.#asked;
    this.#asked = undefined;
    if (!asked) return;
    const { size, note } = asked;
    const file = checkpointFile(this.#folder);
    await (this.#isSecondary ? writeFileDurably(`${file}-${size}`, note, 0o600) : replace(file, note));
    this.#storedSize = size;
  }

  /** Removes what was kept beside a node that has ended: the archive's own kept checkpoint is as large by now. */
  async removeSecondaryCheckpoints(): Promise<void> {
    for (const { file } of await readStoredCheckpoints(this.#folder))
      if (file !== checkpointFile(this.#folder)) await rm(file, { force: true });
  }
}

/** Replaces the kept checkpoint; on a full disk in its place, which takes no more room than it has. */
async function replace(file: string, note: string): Promise<void> {
  try {
    await writeFileDurably(file, note, 0o600);
  } catch (error) {
    if (!isNoSpace(error)) throw error;
    await rm(`${file}.tmp`, { force: true });
    if (!writeInPlace(file, note)) {
      throw new Problem(
        'disk_nearly_full',
        'The disk is full, so no checkpoint can be kept. Make room on it.',
        {
          cause: error,
        },
      );
    }
  }
}

/** A checkpoint is smaller than what a disk writes in one piece, so no crash leaves half of it. */
function writeInPlace(file: string, note: string): boolean {
  try {
    const descriptor = openSync(file, 'r+');
    try {
      const bytes = Buffer.from(note);
      if (writeSync(descriptor, bytes, 0, bytes.length, 0) < bytes.length) return false;
      ftruncateSync(descriptor, bytes.length);
      fdatasyncSync(descriptor);
      return true;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isMissing(error) || isNoSpace(error)) return false;
    throw error;
  }
}
