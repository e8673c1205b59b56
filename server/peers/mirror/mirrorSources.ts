import { z } from 'zod';
import { certificatesOf } from '../../../shared/collection/connection.ts';
import { SELF } from '../../../shared/collection/event.ts';
import {
  provenRetrievalsSchema,
  type RecordedRetrieval,
  type RetrievalProof,
  retrievalProofSchema,
} from '../../../shared/collection/retrieval.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import { type Capture, parseCaptureUrl, RefusedCaptureError } from '../../collection/captures/capture.ts';
import { recordCapture } from '../../collection/captures/recordCapture.ts';
import { batchDigest, batchSubject } from '../../collection/record/coverRetrievals.ts';
import { withHeldCertificates } from '../../collection/record/heldCertificates.ts';
import { retrievalLeaf } from '../../collection/record/retrievalLeaf.ts';
import { sourceIdOf } from '../../collection/sources/sources.ts';
import { rootFromInclusion } from '../../ledger/proofs.ts';
import { hasCaptureAt } from '../../store/sqlite/collection/captures.ts';
import { listOf } from '../listOf.ts';
import { PeerError, TooLargeError } from '../peerClient.ts';
import { fetchObjects } from './fetchObjects.ts';
import type { Mirroring, Progress } from './mirroring.ts';
import { RefusedRecordError } from './mirrorTally.ts';
import { nameSources } from './nameSources.ts';
import { refusalOf } from './refusalOf.ts';

const MAX_PAGE_BYTES = 32 * 1_048_576;
/** A proof has one hash for each level of the tree. */
const MAX_HASHES = 64;
const retrievalPage = provenRetrievalsSchema.extend({
  items: listOf(retrievalProofSchema.extend({ hashes: listOf(z.string(), MAX_HASHES) })),
});
/** The first is also the number of captures that are recorded in one transaction. */
const PAGE_SIZES = [100, 10, 1];
/** Pages without any retrieval after which the list counts as ended. */
const MAX_EMPTY_PAGES = 100;

/**
 * Takes what a peer retrieved itself, as captures: the peer is the observer, and its time the original one. Each
 * retrieval is proven to be covered by the peer's ledger, and each byte is hashed.
 *
 * @param selection the ids of sources, or true for all
 * @throws PeerError; the signal's reason
 */
export async function mirrorSources(
  mirroring: Mirroring,
  selection: true | readonly string[],
  before: Progress,
): Promise<Progress> {
  const { tally, log } = mirroring;
  tally.alreadyHeld += before.held;
  if (before.size === log.size) return before;
  const refusedBefore = tally.refusals;
  let { held, position } = before;
  let examined = 0;
  for (const source of selection === true ? [undefined] : selection) {
    for await (const items of coveredPages(mirroring, source, before.position + 1)) {
      held += await takePage(mirroring, items);
      position = Math.max(position, items.at(-1)?.retrieval.id ?? 0);
      mirroring.progress((examined += items.length));
      if (tally.isEnough) return before;
    }
  }
  return tally.refusals === refusedBefore ? { size: log.size, held, position } : before;
}

/** Yields the listed retrievals from an id on that the verified checkpoint covers, in the order of their ids. */
async function* coveredPages(
  mirroring: Mirroring,
  source: string | undefined,
  from: number,
): AsyncGenerator<RetrievalProof[]> {
  let empty = 0;
  for (let next: number | null = from; next !== null && empty < MAX_EMPTY_PAGES; ) {
    mirroring.signal.throwIfAborted();
    const page = await readPage(mirroring, source, next);
    const covered: RetrievalProof[] = [];
    for (const item of page.items) {
      const previous: number = covered.at(-1)?.retrieval.id ?? next - 1;
      // In order and without repetition, so that an endless list ends.
      if (item.retrieval.id <= previous)
        throw new PeerError('failing', 'The peer sent a list of retrievals that is out of order.');
      if (item.ledger_entry <= mirroring.log.size) covered.push(item);
    }
    if (covered.length > 0) yield covered;
    if (covered.length < page.items.length) return;
    if (page.next !== null && page.next <= (covered.at(-1)?.retrieval.id ?? next - 1)) return;
    empty = covered.length > 0 ? 0 : empty + 1;
    next = page.next;
  }
}

async function readPage(mirroring: Mirroring, source: string | undefined, from: number) {
  for (const limit of PAGE_SIZES) {
    const parameters = new URLSearchParams({ from: String(from), limit: String(limit), observer: SELF });
    if (source !== undefined) parameters.set('source', source);
    try {
      return await mirroring.client.json(
        `/api/retrievals?${parameters.toString()}`,
        retrievalPage,
        MAX_PAGE_BYTES,
      );
    } catch (error) {
      if (!(error instanceof TooLargeError) || limit === 1) throw error;
    }
  }
  throw new Error('The last page size is 1.');
}

/** Mirrors the captures of a page in order. Returns how many of them are held now. */
async function takePage(mirroring: Mirroring, items: readonly RetrievalProof[]): Promise<number> {
  const { store, tally, peer, signal } = mirroring;
  let held = 0;
  const wanted: Capture[] = [];
  for (const item of items) {
    const { retrieval } = item;
    if (retrieval.observer !== SELF || retrieval.sha256 === null || retrieval.bytes === null) continue;
    try {
      const key = { source: retrieval.source, observer: peer.name, at: retrieval.observed_at };
      if (hasCaptureAt(store.read, key)) {
        tally.alreadyHeld += 1;
        held += 1;
        continue;
      }
      await prove(mirroring, item);
      wanted.push(captureOf(retrieval, retrieval.sha256, retrieval.bytes, mirroring.maxObjectMb * MEGABYTE));
    } catch (error) {
      tally.refuse(refusalOf(error));
    }
  }
  signal.throwIfAborted();
  const objects = await fetchObjects(mirroring, [...wanted, ...wanted.flatMap(certificatesOf)]);
  try {
    const kept = wanted
      .filter(({ sha256 }) => objects.isHeld(sha256))
      .map((capture) => withHeldCertificates(capture, objects.isHeld));
    const recorded = await store.write(
      (database) => kept.map((capture) => recordCapture(database, store.instant(), peer.name, capture)),
      { reservation: objects.reservation },
    );
    tally.events += recorded.filter(({ event }) => event !== null).length;
    await nameSources(
      mirroring,
      kept.map(({ url }) => sourceIdOf(url)),
    );
    return held + kept.length;
  } finally {
    await objects.discard();
  }
}

/** @throws RefusedRecordError if the peer's ledger does not cover the retrieval */
async function prove({ log }: Mirroring, item: RetrievalProof): Promise<void> {
  const { retrieval, first, last, root, hashes, ledger_entry } = item;
  const leaf = retrievalLeaf(retrieval);
  const path = hashes.map((hash) => Buffer.from(hash, 'base64'));
  const found = rootFromInclusion(leaf, retrieval.id - first, last - first + 1, path);
  if (found?.toString('hex') !== root) throw new RefusedRecordError('wrong_record');
  const { entry } = await log.entry(ledger_entry);
  const isCovered =
    entry.type === 'retrievals.recorded' &&
    entry.subject === batchSubject({ first, last }) &&
    entry.digest === batchDigest({ first, last, root });
  if (!isCovered) throw new RefusedRecordError('wrong_record');
}

/** @throws RefusedRecordError if the retrieval is not one that a node makes, or its object is too large */
function captureOf(retrieval: RecordedRetrieval, sha256: string, bytes: number, maxBytes: number): Capture {
  const { url, source, final_url, redirects, observed_at, status, error } = retrieval;
  const { content_type, headers, page_label, duration_ms, connection } = retrieval;
  if (sourceIdOf(normalUrl(url)) !== source || normalUrl(url) !== url)
    throw new RefusedRecordError('wrong_record');
  if (bytes > maxBytes) throw new RefusedRecordError('too_large');
  return {
    url,
    final_url,
    redirects,
    original_observed_at: observed_at,
    status,
    error,
    content_type,
    headers,
    page_label,
    sha256,
    bytes,
    duration_ms,
    ...(connection ? { connection } : {}),
    record_id: null,
    payload_digest: null,
  };
}

function normalUrl(url: string): string {
  try {
    return parseCaptureUrl(url);
  } catch (error) {
    if (error instanceof RefusedCaptureError) throw new RefusedRecordError('wrong_record', error);
    throw error;
  }
}
