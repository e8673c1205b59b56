import { sign } from 'node:crypto';
import { closeSync, fdatasyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { isMissing, isNoSpace, orIfMissing, writeFileDurably } from '../store/files.ts';
import { archiveReadOnly } from './appendEntry.ts';
import { type Checkpoint, type NodeKey, type PublicNodeKey, signCheckpoint, signNote } from './checkpoint.ts';
import { type Cosigner, cosignerOf } from './witness/cosignature.ts';

type Signed = Omit<Checkpoint, 'origin'>;

/** The checkpoint file of a data folder, not yet verified. */
export interface StoredCheckpoint {
  file: string;
  note: string;
}

/** The file of the largest checkpoint that the node has signed. */
function checkpointFile(folder: string): string {
  return join(folder, 'checkpoint');
}

/** Reads the checkpoint in a data folder; undefined if there is none. */
export async function readStoredCheckpoint(folder: string): Promise<StoredCheckpoint | undefined> {
  const file = checkpointFile(folder);
  const note = await orIfMissing(readFile(file, 'utf8'), undefined);
  return note === undefined ? undefined : { file, note };
}

interface CheckpointsConfig {
  folder: string;
  key: NodeKey;
  /** The size of the largest stored checkpoint by this key; -1 if there is none. */
  storedSize: number;
}

/** An archive without its private key: the checkpoint that came with it, and the key that verifies it. */
interface UnsignedArchive {
  folder: string;
  key: PublicNodeKey;
  /** The size and the text of the only checkpoint that can be returned. */
  only: { size: number; note: string };
}

/**
 * Signs checkpoints. The largest one is written to stable storage before it is returned, so that a node whose database
 * was replaced by an older one does not sign a second history. Signing a checkpoint that is not larger writes nothing.
 */
export class Checkpoints {
  readonly key: PublicNodeKey;
  readonly #signer: NodeKey | undefined;
  readonly #only: UnsignedArchive['only'] | undefined;
  readonly #folder: string;
  #storedSize: number;
  #cosigner: Cosigner | undefined;
  /** The largest checkpoint requested during a write; the next write stores it. */
  #requested: { size: number; note: string } | undefined;
  #writing: Promise<void> | undefined;

  constructor(config: CheckpointsConfig | UnsignedArchive) {
    this.#folder = config.folder;
    this.key = config.key;
    const isUnsigned = 'only' in config;
    this.#only = isUnsigned ? config.only : undefined;
    this.#signer = isUnsigned ? undefined : config.key;
    this.#storedSize = isUnsigned ? config.only.size : config.storedSize;
  }

  /**
   * Signs a statement with the node's key and returns the signature in base64; null if there is no private key. The text
   * must begin with a line that no checkpoint begins with, so that one can never be taken for the other.
   */
  signStatement(text: `strongroom.${string}`): string | null {
    return this.#signer ? sign(null, Buffer.from(text), this.#signer.privateKey).toString('base64') : null;
  }

  /** Signs a text as a note (C2SP signed-note); null if there is no private key. See `signStatement`. */
  signNote(text: `strongroom.${string}`): string | null {
    return this.#signer ? signNote(this.#signer, text) : null;
  }

  /** The key by which this node cosigns checkpoints of other logs. @throws Problem `archive_read_only` */
  get cosigner(): Cosigner {
    if (!this.#signer) throw archiveReadOnly();
    return (this.#cosigner ??= cosignerOf(this.#signer.name, this.#signer.privateKey));
  }

  /**
   * Returns the checkpoint for this size and root as a signed note.
   *
   * @throws Problem `disk_nearly_full` if it cannot be stored; `archive_read_only` if there is no private key to sign
   * it with; any other error of the file system
   */
  async sign({ size, root }: Signed): Promise<string> {
    if (!this.#signer) {
      if (this.#only?.size === size) return this.#only.note;
      throw archiveReadOnly();
    }
    const note = signCheckpoint(this.#signer, { size, root });
    while (size > this.#storedSize) await this.#store(size, note);
    return note;
  }

  /** Runs one write at a time, each with the largest checkpoint requested before it began. */
  async #store(size: number, note: string): Promise<void> {
    if (size > (this.#requested?.size ?? -1)) this.#requested = { size, note };
    // The caller checks the size again after the write; if it failed, the caller starts its own write and gets the error.
    if (this.#writing) return this.#writing.catch(() => {});
    this.#writing = this.#writeRequested().finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  async #writeRequested(): Promise<void> {
    const requested = this.#requested;
    this.#requested = undefined;
    if (!requested) return;
    const { size, note } = requested;
    await replace(checkpointFile(this.#folder), note);
    this.#storedSize = size;
  }
}

/** Replaces the checkpoint file; on a full disk overwrites it in place, which needs no space. */
async function replace(file: string, note: string): Promise<void> {
  try {
    await writeFileDurably(file, note, 0o600);
  } catch (error) {
    if (!isNoSpace(error)) throw error;
    await rm(`${file}.tmp`, { force: true });
    if (!writeInPlace(file, note)) {
      throw new Problem(
        'disk_nearly_full',
        'The disk is full, so no checkpoint can be saved. Free some space.',
        {
          cause: error,
        },
      );
    }
  }
}

/** Overwrites a file. A checkpoint is smaller than a disk block, so a crash cannot leave a part of it. */
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
