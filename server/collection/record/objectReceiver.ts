import { createHash } from 'node:crypto';
import type { Connection } from '../../../shared/collection/retrieval.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { isDamaged, storeWithRepair } from '../../fixity/damages.ts';
import { type StagedBlob, TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { Reservation } from '../../store/sqlite/engine/writer.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import { RetrievalFailure } from '../fetch/connect.ts';

/** A complete body that is not stored yet. */
export interface ReceivedObject {
  sha256: string;
  bytes: number;
  /** Makes the bytes durable unless they are already: on this disk if they are needed here, else wherever they are. */
  keep(isNeededHere?: boolean): Promise<KeptObject>;
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
interface KeptCertificates {
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
        keep: async (isNeededHere) => (kept = await this.keep(staged, isNeededHere)),
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

  /** Makes staged bytes durable unless they are already, if there is space. The caller releases the reservation at the end. */
  async keep(staged: StagedBlob, isNeededHere = false): Promise<KeptObject> {
    if (await this.isStored(staged.sha256, isNeededHere)) return { isStored: true };
    const reservation = this.#reserve(staged.bytes);
    // Without space, what is offloaded stays where it is.
    if (reservation === undefined) return { isStored: await this.isStored(staged.sha256) };
    try {
      await storeWithRepair(this.#store, staged);
      return { isStored: true, reservation };
    } catch (error) {
      reservation.release();
      // The disk can become full despite the reservation.
      if (errorCode(error) === 'ENOSPC') return { isStored: await this.isStored(staged.sha256) };
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
   * Returns whether the object has a row and a file of the right size, or is offloaded, and is not known to be damaged. One
   * that was given up counts as stored: that it was seen again is recorded, and its bytes are dropped.
   *
   * @param isNeededHere whether one that is offloaded does not count
   */
  async isStored(sha256: string, isNeededHere = false): Promise<boolean> {
    if (isReleased(this.#store.read, sha256)) return true;
    const bytes = blobBytes(this.#store.read, sha256);
    if (bytes === undefined || isDamaged(this.#store.read, sha256)) return false;
    const { blobs } = this.#store;
    if ((await blobs.bytesOf(sha256)) === bytes) return true;
    return !isNeededHere && blobs.offloaded.bytesOf(sha256) === bytes;
  }

  #reachedStorageLimit(bytes: number) {
    return reachedStorageLimit(this.#store, this.#limits(), this.#reserved + bytes);
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

interface Connected {
  connection?: Connection | null | undefined;
  redirects: { connection?: Connection | undefined }[];
}

/** Returns a retrieval whose connections name only certificates that are held. */
export function withHeldCertificates<Retrieval extends Connected>(
  retrieval: Retrieval,
  isHeld: (sha256: string) => boolean,
): Retrieval {
  const held = (connection: Connection): Connection => {
    const { tls } = connection;
    if (tls?.certificates.every(({ sha256 }) => isHeld(sha256)) !== false) return connection;
    return {
      ...connection,
      tls: { ...tls, certificates: tls.certificates.filter(({ sha256 }) => isHeld(sha256)) },
    };
  };
  const { connection, redirects } = retrieval;
  return {
    ...retrieval,
    ...(connection ? { connection: held(connection) } : {}),
    redirects: redirects.map((hop) => (hop.connection ? { ...hop, connection: held(hop.connection) } : hop)),
  };
}

/**
 * The number of received objects that may wait to be recorded. Each holds up to 64 KiB of memory. Spilling more of them
 * to files would take longer than waiting.
 */
const MAX_PENDING = 512;

/**
 * Back-pressure for fetching: counts objects that are received and not yet recorded. Requests that are already running
 * may exceed `MAX_PENDING`.
 */
class Backlog {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** Resolves when fewer than `MAX_PENDING` objects are pending. Waiters resume in the order of their calls. */
  async waitForCapacity(): Promise<void> {
    while (this.#count >= MAX_PENDING) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Adds one pending object. Returns a function that removes it; further calls have no effect. */
  add(): () => void {
    this.#count += 1;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      this.#count -= 1;
      // Wakes all waiters: a single one might add no object and would then wake no other.
      if (this.#count < MAX_PENDING) for (const resume of this.#waiting.splice(0)) resume();
    };
  }
}

/** Hashes and counts a body without storing it. @throws TooManyBytesError. */
export async function hashBody(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
    hash.update(chunk);
  }
  return { sha256: hash.digest('hex'), bytes };
}
