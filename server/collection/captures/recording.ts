import { setImmediate as nextTurn } from 'node:timers/promises';
import { storeWithRepair } from '../../fixity/storeWithRepair.ts';
import type { StagedBlob } from '../../store/blobs/blobStore.ts';
import type { SpooledCapture } from '../../store/sqlite/collection/captureSpool.ts';
import type { ReferredCapture } from '../../store/sqlite/collection/captures.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Capture, CapturedAnswer } from './capture.ts';
import type { Waiting } from './readWarcFile.ts';
import { type RecordedCapture, recordCapture } from './recordCapture.ts';
import { resolveRevisit, type SpooledRecord } from './resolveRevisit.ts';
import type { WarcServices } from './services.ts';
import type { Tally } from './tally.ts';

/** So many captures are placed on the disk together, as long as they have no more bytes than this. */
const BATCH = 512;
const MOST_UNDER_WAY = 8_388_608;
/** So many batches are on their way to the disk, or have come there, while another is recorded. */
const AHEAD = 2;
/** After so many of them, whoever else waits gets a turn. */
const IN_ONE_TURN = 64;
/** No transaction goes on for longer than this once its first capture is recorded: other writes wait meanwhile. */
const TRANSACTION_MS = 100;

/** Records what waits, a batch after the other. */
export class CaptureRecorder {
  readonly #services: WarcServices;
  readonly #waiting: Waiting;
  readonly #tally: Tally;
  readonly #observer: string;
  /** Objects that are kept and whose captures are not recorded yet. */
  readonly #unrecorded = new Set<StagedBlob>();

  constructor(services: WarcServices, waiting: Waiting, tally: Tally, observer: string) {
    this.#services = services;
    this.#waiting = waiting;
    this.#tally = tally;
    this.#observer = observer;
  }

  async run(signal: AbortSignal, tell: (done: number, total: number) => void): Promise<void> {
    const { spool } = this.#waiting;
    const total = spool.count();
    let done = 0;
    let last: SpooledCapture | undefined;
    /** In their order. The next are written to the disk while the first are recorded. */
    const placing: Promise<Placed>[] = [];
    const placeNext = () => {
      const batch = spool.after(last, BATCH);
      last = batch.at(-1) ?? last;
      const placed = this.#place(batch);
      // A failure is told in its turn; until then it is no unhandled one.
      placed.catch(() => {});
      placing.push(placed);
    };
    try {
      while (placing.length < AHEAD) placeNext();
      for (let next = placing[0]; next; next = placing[0]) {
        const placed = await next;
        if (placed.taken === 0) return;
        if (signal.aborted) return this.#tally.refuse('cancelled', total - done);
        placeNext();
        await this.#record(placed);
        void placing.shift();
        done += placed.taken;
        tell(done, total);
      }
    } finally {
      await Promise.allSettled(placing);
      await this.#end([...this.#unrecorded]);
    }
  }

  /** Resolves each of a batch, and puts the bytes that are not held yet on stable storage. */
  async #place(batch: SpooledCapture[]): Promise<Placed> {
    const captures: Capture[] = [];
    for (const [index, spooled] of batch.entries()) {
      const capture = this.#resolve(spooled);
      if (capture) captures.push(capture);
      if (index % IN_ONE_TURN === IN_ONE_TURN - 1) await nextTurn();
    }
    let keeping: Promise<StagedBlob | undefined>[] = [];
    const kept: StagedBlob[] = [];
    let underWay = 0;
    const settle = async () => {
      for (const staged of await Promise.all(keeping)) if (staged) kept.push(staged);
      keeping = [];
      underWay = 0;
    };
    for (const [sha256, bytes] of new Map(captures.map(({ sha256, bytes }) => [sha256, bytes]))) {
      keeping.push(this.#keep(sha256));
      underWay += bytes;
      if (underWay > MOST_UNDER_WAY) await settle();
      else if (keeping.length % IN_ONE_TURN === 0) await nextTurn();
    }
    await settle();
    return { captures, kept, taken: batch.length };
  }

  /** Keeps an object, where it is one that waits. */
  async #keep(sha256: string): Promise<StagedBlob | undefined> {
    const { spool, large } = this.#waiting;
    const content = spool.consumeObject(sha256);
    const { store } = this.#services;
    const staged = content ? await store.blobs.stageBytes(content) : large.get(sha256);
    if (!staged) return undefined;
    // The next batch may hold it too; it is recorded after this one.
    large.delete(sha256);
    this.#unrecorded.add(staged);
    await storeWithRepair(store, staged, 'journal');
    return staged;
  }

  /** Their captures are recorded, or will not be. */
  async #end(kept: readonly StagedBlob[]): Promise<void> {
    for (const staged of kept) {
      this.#unrecorded.delete(staged);
      await staged.discard();
    }
  }

  /** The capture that a record holds, or is the same as; undefined where it is refused. */
  #resolve(spooled: SpooledCapture): Capture | undefined {
    const { url, bytes, answer, concurrent } = JSON.parse(spooled.record) as SpooledRecord;
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
    if (this.#waiting.spool.isNotGet([...concurrent, ...(record_id === null ? [] : [record_id])])) {
      this.#tally.refuse('not_get');
      return undefined;
    }
    if (sha256 !== null && bytes !== null && answer !== null) return { ...common, ...answer, sha256, bytes };
    const referred = resolveRevisit(this.#waiting.spool, this.#services.store.read, spooled);
    if (referred === undefined || referred === 'digest_mismatch') {
      this.#tally.refuse(referred ?? 'unresolved_revisit');
      return undefined;
    }
    return { ...common, ...answerOfRevisit(answer, referred) };
  }

  async #record({ captures, kept }: Placed): Promise<void> {
    const { store } = this.#services;
    for (let at = 0; at < captures.length; ) {
      const rest = captures.slice(at);
      const recorded = await store.writeInSteps((database) =>
        recordSome(database, store.instant(), this.#observer, rest),
      );
      for (const capture of recorded) this.#tally.record(capture);
      at += recorded.length;
    }
    this.#waiting.room.counted(kept.reduce((sum, { bytes }) => sum + bytes, 0));
    await this.#end(kept);
  }
}

/** Captures whose bytes are on stable storage. */
interface Placed {
  captures: Capture[];
  /** What was kept for them that no row counts yet. */
  kept: StagedBlob[];
  /** How many of what waited this was, the refused with it. */
  taken: number;
}

/** Records captures from the first on, as many as a transaction has time for. */
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

/** What a revisit says itself, and for the rest what it is the same as says. */
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
