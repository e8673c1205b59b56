import { setImmediate as nextTurn } from 'node:timers/promises';
import { storeWithRepair } from '../../../fixity/storeWithRepair.ts';
import type { StagedBlob } from '../../../store/blobs/blobStore.ts';
import type { SpooledCapture } from '../../../store/sqlite/collection/captureSpool.ts';
import type { ReferredCapture } from '../../../store/sqlite/collection/captures.ts';
import type { WriteDatabase } from '../../../store/sqlite/engine/open.ts';
import type { Capture, CapturedAnswer } from '../capture.ts';
import { type RecordedCapture, recordCapture } from '../recordCapture.ts';
import type { WarcServices } from '../services.ts';
import type { Tally } from '../tally.ts';
import { followRedirects } from './followRedirects.ts';
import type { PendingCaptures } from './readWarcFile.ts';
import { resolveRevisit, type SpooledRecord } from './resolveRevisit.ts';

/** Captures per batch. No transaction records more, because a commit, which is one turn, takes longer with each. */
const BATCH = 256;
/** The bytes being stored at the same time. */
const MAX_BYTES_IN_FLIGHT = 8_388_608;
/** Batches that are stored, or being stored, while another one is recorded. */
const BATCHES_AHEAD = 2;
/** The event loop gets a turn after this many captures. */
const YIELD_EVERY = 64;
/** A transaction ends after this long, because other writes wait meanwhile. It records at least one capture. */
const TRANSACTION_MS = 100;

/** Records the pending captures, batch by batch. */
export class CaptureRecorder {
  readonly #services: WarcServices;
  readonly #pending: PendingCaptures;
  readonly #tally: Tally;
  readonly #observer: string;
  /** Stored objects whose captures are not recorded yet. */
  readonly #unrecorded = new Set<StagedBlob>();

  constructor(services: WarcServices, pending: PendingCaptures, tally: Tally, observer: string) {
    this.#services = services;
    this.#pending = pending;
    this.#tally = tally;
    this.#observer = observer;
  }

  async run(signal: AbortSignal, onProgress: (done: number, total: number) => void): Promise<void> {
    const { spool } = this.#pending;
    const total = spool.count;
    let done = 0;
    let last: SpooledCapture | undefined;
    // In order. Later batches are stored while the first one is recorded.
    const storing: Promise<StoredBatch>[] = [];
    const storeNext = () => {
      const batch = spool.after(last, BATCH);
      last = batch.at(-1) ?? last;
      const stored = this.#store(batch);
      // A failure is thrown when the batch is awaited below; until then it must not count as unhandled.
      stored.catch(() => {});
      storing.push(stored);
    };
    try {
      while (storing.length < BATCHES_AHEAD) storeNext();
      for (let next = storing[0]; next; next = storing[0]) {
        const stored = await next;
        if (stored.size === 0) return;
        if (signal.aborted) return this.#tally.refuse('cancelled', total - done);
        storeNext();
        await this.#record(stored);
        void storing.shift();
        done += stored.size;
        onProgress(done, total);
      }
    } finally {
      await Promise.allSettled(storing);
      await this.#discard([...this.#unrecorded]);
    }
  }

  /** Resolves the captures of a batch and puts the bytes that are not yet held on stable storage. */
  async #store(batch: SpooledCapture[]): Promise<StoredBatch> {
    const captures: Capture[] = [];
    for (const [index, spooled] of batch.entries()) {
      captures.push(...this.#resolve(spooled));
      if (index % YIELD_EVERY === YIELD_EVERY - 1) await nextTurn();
    }
    let writes: Promise<StagedBlob | undefined>[] = [];
    const blobs: StagedBlob[] = [];
    let bytesInFlight = 0;
    const settle = async () => {
      for (const staged of await Promise.all(writes)) if (staged) blobs.push(staged);
      writes = [];
      bytesInFlight = 0;
    };
    for (const [sha256, bytes] of new Map(captures.map(({ sha256, bytes }) => [sha256, bytes]))) {
      writes.push(this.#storeObject(sha256));
      bytesInFlight += bytes;
      if (bytesInFlight > MAX_BYTES_IN_FLIGHT) await settle();
      else if (writes.length % YIELD_EVERY === 0) await nextTurn();
    }
    await settle();
    return { captures, blobs, size: batch.length };
  }

  /** Stores an object, if it is a pending one. */
  async #storeObject(sha256: string): Promise<StagedBlob | undefined> {
    const { spool, large } = this.#pending;
    const content = spool.consumeObject(sha256);
    const { store } = this.#services;
    const staged = content ? await store.blobs.staging.stageBytes(content) : large.get(sha256);
    if (!staged) return undefined;
    // The next batch may contain it too; that batch is recorded after this one.
    large.delete(sha256);
    this.#unrecorded.add(staged);
    await storeWithRepair(store, staged, 'journal');
    return staged;
  }

  /** Discards the staging of objects whose captures are recorded, or never will be. */
  async #discard(blobs: readonly StagedBlob[]): Promise<void> {
    for (const staged of blobs) {
      this.#unrecorded.delete(staged);
      await staged.discard();
    }
  }

  /**
   * Returns the captures of an address that a record brings; none if it is refused. A redirect whose target is in the
   * file is a capture of that target, as for the node's own retrievals. If it has a body, it is one of its own too.
   */
  #resolve(spooled: SpooledCapture): Capture[] {
    const { spool } = this.#pending;
    const chain = followRedirects(spool, spooled);
    if (!chain || this.#isNotGet(spooled) || this.#isNotGet(chain.target))
      return [this.#resolveOne(spooled)].filter((capture) => capture !== undefined);
    const { url, bytes } = JSON.parse(spooled.record) as SpooledRecord;
    const reached = this.#read(chain.target);
    const isReached = reached !== undefined && reached !== 'digest_mismatch';
    const captures = bytes || !isReached ? [this.#resolveOne(spooled)] : [];
    if (isReached)
      captures.push({
        ...reached,
        url,
        redirects: chain.redirects,
        // The content was observed when the target answered, which may be a retry later.
        original_observed_at: chain.target.at,
        // The record is that of the redirect, the digest that of the target.
        record_id: null,
      });
    return captures.filter((capture) => capture !== undefined);
  }

  #isNotGet({ record, record_id }: SpooledCapture): boolean {
    const { concurrent } = JSON.parse(record) as SpooledRecord;
    return this.#pending.spool.isNotGet([...concurrent, ...(record_id === null ? [] : [record_id])]);
  }

  /** Returns the capture that a record holds or refers to; undefined if it is refused. */
  #resolveOne(spooled: SpooledCapture): Capture | undefined {
    const read = this.#isNotGet(spooled) ? 'not_get' : (this.#read(spooled) ?? reasonWithout(spooled));
    if (typeof read !== 'string') return read;
    this.#tally.refuse(read);
    return undefined;
  }

  #read(spooled: SpooledCapture): Capture | 'digest_mismatch' | undefined {
    const { url, bytes, answer } = JSON.parse(spooled.record) as SpooledRecord;
    const { at, record_id, payload_digest, sha256 } = spooled;
    const common = {
      url,
      final_url: url,
      redirects: [],
      original_observed_at: at,
      duration_ms: 0,
      record_id,
      payload_digest,
    };
    if (sha256 !== null && bytes !== null && answer !== null) return { ...common, ...answer, sha256, bytes };
    const referred = resolveRevisit(this.#pending.spool, this.#services.store.read, spooled);
    if (referred === undefined || referred === 'digest_mismatch') return referred;
    // A digest that nobody compared with the bytes must not lead later revisits to them.
    const isVerified = [referred.payload_digest, `sha256:${referred.sha256}`].includes(payload_digest);
    const verified = { ...common, payload_digest: isVerified ? payload_digest : null };
    return { ...verified, ...answerOfRevisit(answer, referred) };
  }

  async #record({ captures, blobs }: StoredBatch): Promise<void> {
    const { store } = this.#services;
    for (let at = 0; at < captures.length; ) {
      const rest = captures.slice(at);
      const recorded = await store.writeInSteps((database) =>
        recordSome(database, store.instant(), this.#observer, rest),
      );
      for (const capture of recorded) this.#tally.record(capture);
      at += recorded.length;
    }
    this.#pending.space.release(blobs.reduce((sum, { bytes }) => sum + bytes, 0));
    await this.#discard(blobs);
  }
}

/** Captures whose bytes are on stable storage. */
interface StoredBatch {
  captures: Capture[];
  /** Objects stored for them that no row counts yet. */
  blobs: StagedBlob[];
  /** The number of pending captures in the batch, including refused ones. */
  size: number;
}

/** Records as many captures, from the first on, as fit in the time of one transaction. */
function* recordSome(
  database: WriteDatabase,
  now: string,
  observer: string,
  captures: readonly Capture[],
): Generator<void, RecordedCapture[], void> {
  const until = performance.now() + TRANSACTION_MS;
  const recorded: RecordedCapture[] = [];
  for (const capture of captures) {
    recorded.push(recordCapture(database, now, observer, capture));
    if (performance.now() > until) break;
    yield;
  }
  return recorded;
}

/** Returns why a record without bytes is refused: a revisit of nothing known, or a truncated redirect that leads nowhere. */
function reasonWithout({ record }: SpooledCapture): 'unresolved_revisit' | 'truncated' {
  const { refersTo } = JSON.parse(record) as SpooledRecord;
  return refersTo === null ? 'truncated' : 'unresolved_revisit';
}

/** Combines the head of a revisit, if it has one, with the capture that it refers to. */
function answerOfRevisit(
  own: CapturedAnswer | null,
  { payload_digest: _digest, ...referred }: ReferredCapture,
) {
  if (own === null) return { headers: [], ...referred };
  return {
    ...referred,
    status: own.status,
    headers: own.headers,
    error: own.status === 304 ? referred.error : own.error,
    content_type: own.content_type ?? referred.content_type,
    page_label: own.page_label ?? referred.page_label,
  };
}
