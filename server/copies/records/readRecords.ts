import { createHash, hash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dumpHeader } from '../../dump/writeDump.ts';
import { databaseFile, temporaryFolder } from '../../store/blobs/paths.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { proofsState } from '../../store/sqlite/node/witness.ts';
import type { Store } from '../../store/store.ts';
import type { CopyServices } from '../requireOwn.ts';
import type { Payload } from '../targets/target.ts';
import { recordLines, stateLines } from './recordLines.ts';

/** A file of records as a copy holds it: in memory, or in a file if it is large. */
export interface CopiedRecords {
  payload: Payload;
  sha256: string;
  /** Deletes the file, if there is one. */
  discard: () => Promise<void>;
}

/** The state that no ledger entry records, as of the newest entry at that time. */
export interface CopiedState {
  size: number;
  /** The signed checkpoint. */
  note: string;
  bytes: Buffer;
  sha256: string;
  /** The timestamps and cosignatures until then; see `proofsState`. */
  proofs: string;
}

/** Records up to this size are held in memory. A batch of retrievals can have gigabytes. */
const HELD_BYTES = 4_194_304;
/** The objects that are named to the caller at once. */
const OBJECTS_AT_ONCE = 1_000;

/**
 * Makes the file of records of the entries `first` to `last`.
 *
 * @param onObjects is called with the digests of the objects that the records name, before the result is returned. A digest
 * can be named more than once.
 */
export async function readRecords(
  { read, folder, randomHex }: Pick<Store, 'read' | 'folder' | 'randomHex'>,
  { first, last }: { first: number; last: number },
  onObjects: (digests: string[]) => Promise<void>,
): Promise<CopiedRecords> {
  const spool = new Spool(join(temporaryFolder(folder), `records-${randomHex(16)}`));
  try {
    let objects = new Set<string>();
    let count = 0;
    for (const { line, objects: named } of recordLines(read, first, last)) {
      await spool.append(line);
      for (const sha256 of named) objects.add(sha256);
      if (objects.size >= OBJECTS_AT_ONCE) {
        await onObjects([...objects]);
        objects = new Set();
      }
      count += 1;
      await turnAfter(count);
    }
    await onObjects([...objects]);
    return await spool.finish();
  } catch (error) {
    await spool.discard();
    throw error;
  }
}

/** Lines that are hashed and, from a size on, written to a file. */
class Spool {
  readonly #file: string;
  readonly #hash = createHash('sha256');
  #held: Buffer[] = [];
  #heldBytes = 0;
  #size = 0;
  #handle: FileHandle | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    this.#hash.update(bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#size += bytes.length;
    if (this.#heldBytes > HELD_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#handle ??= await open(this.#file, 'wx', 0o600);
    const bytes = Buffer.concat(this.#held);
    [this.#held, this.#heldBytes] = [[], 0];
    await this.#handle.appendFile(bytes);
  }

  async finish(): Promise<CopiedRecords> {
    const sha256 = this.#hash.digest('hex');
    const discard = () => this.discard();
    if (!this.#handle) return { payload: { bytes: Buffer.concat(this.#held) }, sha256, discard };
    await this.#flush();
    await this.#close();
    return { payload: { file: this.#file, size: this.#size, sha256 }, sha256, discard };
  }

  async #close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async discard(): Promise<void> {
    await this.#close();
    if (this.#size > HELD_BYTES) await rm(this.#file, { force: true });
  }
}

/** Reads what can change, and signs the checkpoint, from one snapshot. @throws the errors of `Checkpoints.sign` */
export async function readState({ store, checkpoints }: CopyServices): Promise<CopiedState> {
  const snapshot = await openSnapshot(databaseFile(store.folder), { isMapped: false });
  try {
    const size = lastEntry(snapshot)?.seq ?? 0;
    const header = await dumpHeader(snapshot, store.clock, checkpoints);
    const { checkpoint: note } = JSON.parse(header) as { checkpoint: string };
    const lines = [header];
    for (const line of stateLines(snapshot)) {
      lines.push(line);
      await turnAfter(lines.length);
    }
    const proofs = proofsState(snapshot);
    snapshot.exec('COMMIT');
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    return { size, note, proofs, bytes, sha256: hash('sha256', bytes) };
  } finally {
    snapshot.close();
  }
}

/** After this many lines, the event loop gets a turn. */
const LINES_PER_TURN = 500;

async function turnAfter(lines: number): Promise<void> {
  if (lines % LINES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
}
