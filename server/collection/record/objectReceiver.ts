import type { Settings } from '../../../shared/settings.ts';
import { isDamaged } from '../../fixity/damages.ts';
import { storeWithRepair } from '../../fixity/storeWithRepair.ts';
import type { StagedBlob } from '../../store/blobs/blobStore.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { codeOf, RetrievalFailure } from '../fetch/failure.ts';
import { Backlog } from '../schedule/backlog.ts';
import { hashBody } from '../sources/hashBody.ts';

/** A body that came whole: its digest, and how it is kept. */
export interface ReceivedObject {
  sha256: string;
  bytes: number;
  /**
   * Makes the bytes durable under their digest, unless they are already, then records them. `record` is told whether
   * they are held: false where there was no room. Their room is reserved until it calls `release`, in the turn in
   * which they are seen to be counted.
   */
  keep<Result>(record: RecordObject<Result>): Promise<Result>;
  /** Lets go of the bytes that were not kept; always called in the end. */
  discard(): Promise<void>;
}

export type RecordObject<Result> = (held: boolean, release: () => void) => Promise<Result>;

type Limits = Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>;

/** Takes the bodies that the collector fetches, within the owner's limits. */
export class ObjectReceiver {
  readonly #store: Store;
  readonly #limits: () => Limits;
  /** Bytes that are being kept and are in no row yet. */
  #underWay = 0;
  #reserving: Promise<unknown> = Promise.resolve();
  readonly #backlog = new Backlog();

  constructor(store: Store, limits: () => Limits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Resolves when what came before is stored quickly enough that more may be asked for. */
  waitForBacklog(): Promise<void> {
    return this.#backlog.room();
  }

  /**
   * Where there is room the bytes are staged on disk, else only hashed: an object that is held already needs no room,
   * and is an observation even then.
   *
   * @throws TooManyBytesError; whatever the stream throws; RetrievalFailure `storage_full` where the disk filled up.
   */
  async receive(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ReceivedObject> {
    if ((await this.#reachedStorageLimit(0)) !== null)
      return this.#measured(await hashBody(chunks, maxBytes));
    try {
      const staged = await this.#store.blobs.stage(chunks, maxBytes);
      const { sha256, bytes } = staged;
      const done = this.#backlog.add();
      return {
        sha256,
        bytes,
        keep: (record) => this.#keep(staged, record),
        discard: () => {
          done();
          return staged.discard();
        },
      };
    } catch (error) {
      if (codeOf(error) === 'ENOSPC') throw new RetrievalFailure('storage_full', error);
      throw error;
    }
  }

  async #keep<Result>(staged: StagedBlob, record: RecordObject<Result>): Promise<Result> {
    if (await this.isStored(staged.sha256)) return record(true, nothing);
    const release = await this.#reserve(staged.bytes);
    if (release === undefined) return record(false, nothing);
    try {
      if (await this.#fits(staged)) return await record(true, release);
    } finally {
      release();
    }
    return record(false, nothing);
  }

  /** Keeps the bytes; false where the disk filled up although there seemed to be room. */
  async #fits(staged: StagedBlob): Promise<boolean> {
    try {
      await storeWithRepair(this.#store, staged, 'journal');
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOSPC') return false;
      throw error;
    }
  }

  async #reserve(bytes: number): Promise<(() => void) | undefined> {
    if (!(await this.reserveSpace(bytes))) return undefined;
    let left = bytes;
    return () => {
      this.releaseSpace(left);
      left = 0;
    };
  }

  /**
   * Reserves room for bytes that will be kept, one after the other, so that two cannot both be given the last of it;
   * false where there is none. Whoever was given room gives it back once the bytes are counted by their rows, or given up.
   */
  reserveSpace(bytes: number): Promise<boolean> {
    const reserved = this.#reserving.then(async () => {
      if ((await this.#reachedStorageLimit(bytes)) !== null) return false;
      this.#underWay += bytes;
      return true;
    });
    this.#reserving = reserved.catch(nothing);
    return reserved;
  }

  releaseSpace(bytes: number): void {
    this.#underWay -= bytes;
  }

  #measured({ sha256, bytes }: { sha256: string; bytes: number }): ReceivedObject {
    return {
      sha256,
      bytes,
      keep: async (record) => record(await this.isStored(sha256), nothing),
      discard: async () => {},
    };
  }

  /** Whether the object is named by a row, lies in its place with all its bytes and is not known to be damaged. */
  async isStored(sha256: string): Promise<boolean> {
    const bytes = blobBytes(this.#store.read, sha256);
    if (bytes === undefined || isDamaged(this.#store.read, sha256)) return false;
    return (await this.#store.blobs.bytesOf(sha256)) === bytes;
  }

  #reachedStorageLimit(bytes: number) {
    return reachedStorageLimit(this.#store, this.#limits(), this.#underWay + bytes);
  }
}

function nothing(): void {}
