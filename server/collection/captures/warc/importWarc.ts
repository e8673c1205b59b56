import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaptureResult } from '../../../../shared/collection/captures.ts';
import type { Redirect } from '../../../../shared/collection/retrieval.ts';
import { MAX_CAPTURE_UNPACKED_BYTES, MEGABYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { storeWithRepair } from '../../../fixity/damages.ts';
import { yieldToEventLoop } from '../../../runtime/background.ts';
import type { StagedBlob } from '../../../store/blobs/blobStore.ts';
import { temporaryFolder } from '../../../store/files.ts';
import {
  CaptureSpool,
  type ReferredCapture,
  type SpooledCapture,
} from '../../../store/sqlite/collection/captures.ts';
import { sourceById } from '../../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../../store/sqlite/engine/open.ts';
import { decodeLocation, isRedirect, redirectHeaders } from '../../fetch/fetchObject.ts';
import { headerOf } from '../../fetch/httpMessage.ts';
import { sourceIdOf } from '../../sources/sources.ts';
import {
  type Capture,
  type CapturedAnswer,
  CaptureSpace,
  DamagedCaptureFileError,
  parseCaptureUrl,
  type RecordedCapture,
  RefusedCaptureError,
  recordCapture,
  Tally,
  type WarcServices,
} from '../capture.ts';
import type { OpenBytes } from './decompress.ts';
import { type FileDescription, type PendingCaptures, readWarcFile } from './readWarcFile.ts';
import { resolveRevisit, type SpooledRecord } from './revisits.ts';

export interface WarcImport {
  /** Opens the files, compressed or not. They are read as if they were one. */
  files: readonly OpenBytes[];
  /** Returns whose captures these are. Called once the first file is read. */
  observer: (description: FileDescription) => string;
  signal: AbortSignal;
  /** Called with the number of captures recorded, out of all that were read. */
  onProgress?: (done: number, total: number) => void;
}

/**
 * Imports WARC files: reads all of them, then records their captures in the order of their capture times. Cancelling
 * keeps the captures already recorded.
 *
 * @throws Problem `invalid_capture` if a file is not a WARC file or its first record is damaged.
 */
export async function importWarc(
  services: WarcServices,
  { files, observer, signal, onProgress = () => {} }: WarcImport,
): Promise<CaptureResult> {
  const { store, receiver, settings } = services;
  const file = join(temporaryFolder(store.folder), `captures-${store.randomHex(16)}`);
  const spool = new CaptureSpool(file);
  const pending: PendingCaptures = { spool, space: new CaptureSpace(receiver), large: new Map() };
  const tally = new Tally();
  try {
    const maxBytesOf = (url: string) =>
      Math.floor(
        (sourceById(store.read, sourceIdOf(url))?.max_object_mb ?? settings().max_object_mb) * MEGABYTE,
      );
    const reading = { staging: store.blobs.staging, maxBytesOf, receiver };
    let maxUnpackedBytes = MAX_CAPTURE_UNPACKED_BYTES;
    let name: string | undefined;
    for (const open of files) {
      const description = await readWarcFile({ ...reading, maxUnpackedBytes }, pending, tally, open, signal);
      maxUnpackedBytes = Math.max(0, maxUnpackedBytes - description.unpacked);
      name ??= observer(description);
    }
    if (name !== undefined) await new CaptureRecorder(services, pending, tally, name).run(signal, onProgress);
  } catch (error) {
    if (error instanceof DamagedCaptureFileError)
      throw new Problem('invalid_capture', `This WARC file cannot be read: ${error.message}`);
    if (!signal.aborted) throw error;
  } finally {
    pending.space.close();
    spool.close();
    await rm(file, { force: true });
    for (const staged of pending.large.values()) await staged.discard();
  }
  return tally.result();
}

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
class CaptureRecorder {
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
    const storing = new Set<Promise<StoredBatch>>();
    const storeNext = () => {
      const batch = spool.after(last, BATCH);
      last = batch.at(-1) ?? last;
      const stored = this.#store(batch);
      // A failure is thrown when the batch is awaited below; until then it must not count as unhandled.
      stored.catch(() => {});
      storing.add(stored);
    };
    try {
      while (storing.size < BATCHES_AHEAD) storeNext();
      for (const next of storing) {
        const stored = await next;
        if (stored.size === 0) return;
        if (signal.aborted) return this.#tally.refuse('cancelled', total - done);
        storeNext();
        await this.#record(stored);
        storing.delete(next);
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
      if (index % YIELD_EVERY === YIELD_EVERY - 1) await yieldToEventLoop();
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
      else if (writes.length % YIELD_EVERY === 0) await yieldToEventLoop();
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
    await storeWithRepair(store, staged);
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

/** Redirects that end at a capture of the same file. */
interface RedirectChain {
  redirects: Redirect[];
  target: SpooledCapture;
}

const MAX_REDIRECTS = 10;
/** Crawlers request the target of a redirect soon after it. A later capture need not belong to it. */
const MAX_DELAY_MS = 600_000;

/**
 * Follows the `Location` of a captured redirect through the captures of the same file, to the first one that is no
 * redirect.
 *
 * @returns undefined if the capture is no redirect, or the file does not contain what it leads to.
 */
function followRedirects(spool: CaptureSpool, first: SpooledCapture): RedirectChain | undefined {
  const redirects: Redirect[] = [];
  const seen = new Set<string>();
  for (let at: SpooledCapture | undefined = first; at; ) {
    const { url, answer } = JSON.parse(at.record) as SpooledRecord;
    const { status, headers } = answer ?? { status: null, headers: [] };
    if (status === null || !isRedirect({ status }))
      return redirects.length > 0 ? { redirects, target: at } : undefined;
    seen.add(at.source);
    redirects.push({ url, status, headers: redirectHeaders(headers) });
    const to = targetOf(url, headerOf(headers, 'location'));
    if (to === undefined || seen.has(to) || redirects.length > MAX_REDIRECTS) return undefined;
    at = spool.firstWithin(to, at.at, new Date(Date.parse(at.at) + MAX_DELAY_MS).toISOString());
  }
  return undefined;
}

/** Returns the source id of the address that a redirect leads to. */
function targetOf(from: string, location: string | undefined): string | undefined {
  const to = location === undefined ? null : URL.parse(decodeLocation(location), from);
  if (!to) return undefined;
  try {
    return sourceIdOf(parseCaptureUrl(to.href));
  } catch (error) {
    if (error instanceof RefusedCaptureError) return undefined;
    throw error;
  }
}
