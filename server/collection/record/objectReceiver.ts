import type { Settings } from '../../../shared/node/settings.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { isDamaged } from '../../fixity/damages.ts';
import { storeWithRepair } from '../../fixity/storeWithRepair.ts';
import type { StagedBlob } from '../../store/blobs/blobStore.ts';
import type { Reservation } from '../../store/sqlite/engine/writeOptions.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { RetrievalFailure } from '../fetch/failure.ts';
import { Backlog } from '../schedule/backlog.ts';
import { hashBody } from '../sources/hashBody.ts';

/** A complete body that is not stored yet. */
export interface ReceivedObject {
  sha256: string;
  bytes: number;
  /** Makes the bytes durable unless they are already. */
  keep(): Promise<KeptObject>;
  /** Call it when a row references the object. */
  recorded(): Promise<void>;
  /** Discards the bytes that were not stored, and releases the space that is still held. Must always be called at the end. */
  discard(): Promise<void>;
}

export interface KeptObject {
  /** False if there was no space for the bytes. */
  isStored: boolean;
  /** The space that the bytes take until a row counts them; pass it to the `write` of that row. Absent if none is held. */
  reservation?: Reservation;
}

/** Certificates that are durable. */
export interface KeptCertificates {
  held: ReadonlySet<string>;
  /** Call it when their rows are written. */
  recorded: () => void;
  /** Releases the space that is still held. Must always be called at the end. */
  discard: () => Promise<void>;
}

/** How many certificates are remembered as kept. */
const MAX_KNOWN_CERTIFICATES = 10_000;

type Limits = Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>;

/** Receives and stores the bodies that the collector fetches, within the owner's storage limits. */
export class ObjectReceiver {
  readonly #store: Store;
  readonly #limits: () => Limits;
  /** Reserved bytes that no row counts yet. */
  #reserved = 0;
  readonly #backlog = new Backlog();
  /** The certificates that were kept since the start. */
  readonly #certificates = new Set<string>();

  constructor(store: Store, limits: () => Limits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Resolves when few enough received objects are waiting to be recorded that the next request may be sent. */
  waitForBacklog(): Promise<void> {
    return this.#backlog.waitForCapacity();
  }

  /**
   * Stages the bytes, or only hashes them if there is no space. An object that is stored already can be observed
   * without space.
   *
   * @throws TooManyBytesError; whatever the stream throws; RetrievalFailure `storage_full` if the disk becomes full.
   */
  async receive(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ReceivedObject> {
    if (this.#reachedStorageLimit(0) !== null) return this.#hashedOnly(await hashBody(chunks, maxBytes));
    try {
      const staged = await this.#store.blobs.staging.stage(chunks, maxBytes);
      const { sha256, bytes } = staged;
      const done = this.#backlog.add();
      let kept: KeptObject | undefined;
      return {
        sha256,
        bytes,
        keep: async () => (kept = await this.#keep(staged)),
        recorded: () => staged.leave(),
        discard: () => {
          done();
          kept?.reservation?.release();
          return staged.discard();
        },
      };
    } catch (error) {
      if (errorCode(error) === 'ENOSPC') throw new RetrievalFailure('storage_full', error);
      throw error;
    }
  }

  /**
   * Makes certificates durable, and returns the digests of those that are now, and the space that is held for them. Those
   * that were kept since the start are not looked at again.
   */
  async keepCertificates(certificates: ReadonlyMap<string, Buffer>): Promise<KeptCertificates> {
    const received: ReceivedObject[] = [];
    const held = new Set<string>();
    try {
      for (const [sha256, bytes] of certificates) {
        if (!this.#certificates.has(sha256)) {
          const object = await this.receive(oneChunk(bytes), bytes.length);
          received.push(object);
          if (!(await object.keep()).isStored) continue;
        }
        held.add(sha256);
      }
    } catch (error) {
      await Promise.all(received.map((object) => object.discard()));
      if (!(error instanceof RetrievalFailure)) throw error;
      return { held: new Set(), recorded: () => {}, discard: async () => {} };
    }
    return {
      held,
      recorded: () => {
        if (this.#certificates.size > MAX_KNOWN_CERTIFICATES) this.#certificates.clear();
        for (const sha256 of held) this.#certificates.add(sha256);
      },
      discard: async () => void (await Promise.all(received.map((object) => object.discard()))),
    };
  }

  async #keep(staged: StagedBlob): Promise<KeptObject> {
    if (await this.isStored(staged.sha256)) return { isStored: true };
    const reservation = this.#reserve(staged.bytes);
    if (reservation === undefined) return { isStored: false };
    try {
      await storeWithRepair(this.#store, staged, 'journal');
      return { isStored: true, reservation };
    } catch (error) {
      reservation.release();
      // The disk can become full despite the reservation.
      if (errorCode(error) === 'ENOSPC') return { isStored: false };
      throw error;
    }
  }

  #reserve(bytes: number): Reservation | undefined {
    if (!this.reserveSpace(bytes)) return undefined;
    let left = bytes;
    return {
      release: () => {
        this.releaseSpace(left);
        left = 0;
      },
    };
  }

  /**
   * Reserves space for bytes that will be stored. Returns false if there is none. The caller releases the space when the
   * bytes are counted by their rows or discarded.
   */
  reserveSpace(bytes: number): boolean {
    if (this.#reachedStorageLimit(bytes) !== null) return false;
    this.#reserved += bytes;
    return true;
  }

  releaseSpace(bytes: number): void {
    this.#reserved -= bytes;
  }

  #hashedOnly({ sha256, bytes }: { sha256: string; bytes: number }): ReceivedObject {
    return {
      sha256,
      bytes,
      keep: async () => ({ isStored: await this.isStored(sha256) }),
      recorded: async () => {},
      discard: async () => {},
    };
  }

  /**
   * Returns whether the object has a row and a file of the right size, or has left this disk for a copy, and is not known
   * to be damaged.
   */
  async isStored(sha256: string): Promise<boolean> {
    const bytes = blobBytes(this.#store.read, sha256);
    if (bytes === undefined || isDamaged(this.#store.read, sha256)) return false;
    const { blobs } = this.#store;
    return (await blobs.bytesOf(sha256)) === bytes || blobs.away.bytesOf(sha256) === bytes;
  }

  #reachedStorageLimit(bytes: number) {
    return reachedStorageLimit(this.#store, this.#limits(), this.#reserved + bytes);
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
