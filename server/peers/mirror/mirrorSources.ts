import pLimit from 'p-limit';
import { z } from 'zod';
import { SELF } from '../../../shared/collection/observers.ts';
import {
  certificatesOf,
  provenRetrievalsSchema,
  type RecordedRetrieval,
  type RetrievalProof,
  retrievalProofSchema,
} from '../../../shared/collection/retrieval.ts';
import { newSourceSchema } from '../../../shared/collection/source.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import {
  type Capture,
  parseCaptureUrl,
  RefusedCaptureError,
  recordCapture,
} from '../../collection/captures/capture.ts';
import { RetrievalFailure } from '../../collection/fetch/connect.ts';
import { batchDigest, batchSubject, retrievalLeaf } from '../../collection/record/coverRetrievals.ts';
import { type ReceivedObject, withHeldCertificates } from '../../collection/record/objectReceiver.ts';
import { isHidden } from '../../collection/record/recordRetrieval.ts';
import { labelSource, sourceIdOf } from '../../collection/sources/sources.ts';
import { rootFromInclusion } from '../../ledger/prove.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import { hasCaptureAt } from '../../store/sqlite/collection/captures.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writer.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { cameFromPeer, fromPeer } from '../../store/sqlite/node/peerOrigins.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { listOf, MAX_CONNECTIONS, TooLargeError } from '../peerClient.ts';
import { isMissingAtPeer, isWanted, type NotGiven, noteAbsent, notGiven } from './absent.ts';
import { RefusedRecordError, refusalOf } from './mirrorTally.ts';
import { coveredPages, type Mirroring, type Progress } from './remoteLog.ts';

const MAX_PAGE_BYTES = 32 * 1_048_576;
/** A proof has one hash for each level of the tree. */
const MAX_HASHES = 64;
const retrievalPage = provenRetrievalsSchema.extend({
  items: listOf(retrievalProofSchema.extend({ hashes: listOf(z.string(), MAX_HASHES) })),
});
/** The first is also the number of captures that are recorded in one transaction. */
const PAGE_SIZES = [100, 10, 1];

/**
 * Takes what a peer retrieved itself, as captures: the peer is the observer, and its time the original one. Each
 * retrieval is proven to be covered by the peer's ledger, and each byte is hashed.
 *
 * What is recorded of a source is in the order of the peer, because it decides the types of events. After a retrieval that
 * failed by an error, nothing more of its source is recorded: the next run goes on there.
 *
 * That one is left out of a list is not noticed. A batch of the ledger covers retrievals of all sources and observers, and parts
 * of pages, which the list does not have, so a gap between ids says nothing.
 *
 * @param selection the ids of sources, or true for all
 * @param stopped gets the sources of which nothing more may be recorded in this run
 * @throws PeerError; the signal's reason
 */
export async function mirrorSources(
  mirroring: Mirroring,
  selection: true | readonly string[],
  before: Progress,
  stopped: Set<string>,
): Promise<Progress> {
  const { tally, log } = mirroring;
  tally.alreadyHeld += before.held;
  if (before.size === log.size) return before;
  const refusedBefore = tally.refusals;
  let { held, position } = before;
  let examined = 0;
  for (const source of selection === true ? [undefined] : selection) {
    const selected = { observer: SELF, ...(source !== undefined && { source }) };
    for await (const items of coveredRetrievals(mirroring, selected, before.position + 1)) {
      held += await takePage(mirroring, items, stopped);
      position = Math.max(position, items.at(-1)?.retrieval.id ?? 0);
      mirroring.progress((examined += items.length));
      if (tally.shouldStop) return before;
    }
  }
  return tally.refusals === refusedBefore ? { size: log.size, held, position } : before;
}

/** Yields the listed retrievals from an id on that the verified checkpoint covers, in the order of their ids. */
export function coveredRetrievals(
  mirroring: Mirroring,
  selected: Readonly<Record<string, string>>,
  first: number,
): AsyncGenerator<RetrievalProof[]> {
  return coveredPages(mirroring, {
    read: async (from: number) => {
      const { items, next } = await readPage(mirroring, selected, from);
      return { items, next: next !== null && next > from ? next : null };
    },
    first,
    order: 'oldest',
    place: ({ retrieval }) => retrieval.id,
    entry: ({ ledger_entry }) => ledger_entry,
  });
}

/** Reads a page of retrievals with their proofs. */
async function readPage(mirroring: Mirroring, selected: Readonly<Record<string, string>>, from: number) {
  for (const limit of PAGE_SIZES) {
    const parameters = new URLSearchParams({ from: String(from), limit: String(limit), ...selected });
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
async function takePage(
  mirroring: Mirroring,
  items: readonly RetrievalProof[],
  stopped: Set<string>,
): Promise<number> {
  const { store, tally, peer, signal } = mirroring;
  let held = 0;
  const failed = new Set(stopped);
  const wanted: { source: string; capture: Capture }[] = [];
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
      if (failed.has(retrieval.source)) continue;
      await prove(mirroring, item).catch((error: unknown) => {
        failed.add(retrieval.source);
        throw error;
      });
      const capture = captureOf(
        retrieval,
        retrieval.sha256,
        retrieval.bytes,
        mirroring.maxObjectMb * MEGABYTE,
      );
      wanted.push({ source: retrieval.source, capture });
    } catch (error) {
      tally.refuse(refusalOf(error));
    }
  }
  signal.throwIfAborted();
  const captures = wanted.map(({ capture }) => capture);
  const objects = await fetchObjects(mirroring, [...captures, ...captures.flatMap(certificatesOf)]);
  try {
    const kept: Capture[] = [];
    for (const { source, capture } of wanted) {
      const named = [capture, ...certificatesOf(capture)];
      if (!named.every(({ sha256 }) => objects.isSettled(sha256))) stopped.add(source);
      if (stopped.has(source) || !objects.isHeld(capture.sha256)) continue;
      kept.push(withHeldCertificates(capture, objects.isHeld));
    }
    for (const source of failed) stopped.add(source);
    const names = await readNames(
      mirroring,
      kept.map(({ url }) => sourceIdOf(url)),
    );
    const recorded = await store.write(
      (database) =>
        fromPeer(database, mirroring.origin, () => {
          const unknown = [...names].filter(([id]) => sourceById(database, id) === undefined);
          const all = kept.map((capture) => recordCapture(database, store.instant(), peer.name, capture));
          const hidden = hiddenSources(database, kept);
          for (const [id, labels] of unknown)
            if (!hidden.has(id)) labelSource(database, id, labels, store.instant());
          objects.recorded(database);
          return all;
        }),
      { reservation: objects.reservation },
    );
    tally.events += recorded.filter(({ event }) => event !== null).length;
    return held + kept.length;
  } finally {
    await objects.discard();
  }
}

/** Returns the sources of captures whose bytes are withheld or released here: a name may quote them. */
function hiddenSources(database: WriteDatabase, captures: readonly Capture[]): Set<string> {
  const hidden = captures.filter(({ sha256 }) => isHidden(database, sha256));
  return new Set(hidden.map(({ url }) => sourceIdOf(url)));
}

/** @throws RefusedRecordError if the peer's ledger does not cover the retrieval */
export async function prove({ log }: Mirroring, item: RetrievalProof): Promise<void> {
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

export function normalUrl(url: string): string {
  try {
    return parseCaptureUrl(url);
  } catch (error) {
    if (error instanceof RefusedCaptureError) throw new RefusedRecordError('wrong_record', error);
    throw error;
  }
}

const MAX_SOURCE_BYTES = 1_048_576;
const { name, agency } = newSourceSchema.shape;
const namedSource = z.object({ name, agency });

/**
 * Returns the names and the agencies that sources which are new here have at the peer. No entry of the peer's ledger proves
 * them: they are labels, which the owner can change. A source that is here keeps its own.
 *
 * @throws PeerError
 */
async function readNames({ store, client, signal }: Mirroring, ids: Iterable<string>) {
  const names = new Map<string, z.output<typeof namedSource>>();
  for (const id of new Set(ids)) {
    if (sourceById(store.read, id)) continue;
    signal.throwIfAborted();
    const labels = await client.json(`/api/sources/${id}`, namedSource, MAX_SOURCE_BYTES);
    if (labels.name !== '') names.set(id, labels);
  }
  return names;
}

/** Objects that are on stable storage, until their rows are written. */
interface FetchedObjects {
  /** Whether an object is here, or is noted as absent because the peer does not give it: its record is taken. */
  isHeld: (sha256: string) => boolean;
  /** Whether an object is held, or the peer does not have it or has other bytes: another run would hardly bring it. */
  isSettled: (sha256: string) => boolean;
  /** Notes what the peer gave and what it does not give, in the transaction that writes its records. */
  recorded: (database: WriteDatabase) => void;
  /** The space that they take until rows count them. */
  reservation: Reservation;
  /** Must be called at the end. */
  discard: () => Promise<void>;
}

/**
 * Fetches the objects that the archive does not hold, several at once, and makes them durable. Each byte is hashed while
 * it arrives. An object that is refused is counted, and is not held.
 *
 * @throws PeerError if the peer is gone
 */
export async function fetchObjects(
  mirroring: Mirroring,
  wanted: readonly { sha256: string; bytes: number }[],
): Promise<FetchedObjects> {
  const { receiver, tally, store } = mirroring;
  const absent = new Map<string, NotGiven>();
  const given = new Set<string>();
  const atOnce = pLimit(MAX_CONNECTIONS);
  const held = new Set<string>();
  const missing = new Set<string>();
  const received: ReceivedObject[] = [];
  const reservations: Reservation[] = [];
  let failure: { cause: unknown } | undefined;
  const discard = async () => void (await Promise.all(received.map((each) => each.discard())));
  const fetchOne = async (sha256: string, bytes: number, count: number) => {
    try {
      // After a failure the peer is gone, or nothing can be stored. It is asked for nothing more.
      if (failure !== undefined || tally.shouldStop) return;
      const isHere = isReleased(store.read, sha256) || (await receiver.isStored(sha256));
      if (isWanted(mirroring, sha256, isHere)) {
        const object = await receiveIntact(mirroring, { sha256, bytes }, received);
        if (object === undefined) {
          missing.add(sha256);
          throw new RefusedRecordError('wrong_bytes');
        }
        const { isStored, reservation } = await object.keep();
        if (!isStored) throw new RefusedRecordError('no_room');
        if (reservation) reservations.push(reservation);
        given.add(sha256);
        if (!isHere) tally.objects += 1;
        if (!isHere) tally.bytes += bytes;
      }
      held.add(sha256);
    } catch (error) {
      const why = notGiven(error, store.instant());
      if (why) {
        absent.set(sha256, why);
        held.add(sha256);
        tally.notGiven += 1;
        return;
      }
      if (isMissingAtPeer(error)) missing.add(sha256);
      try {
        const reason = refusalOf(error);
        for (let times = 0; times < count; times += 1) tally.refuse(reason);
      } catch (cause) {
        failure ??= { cause };
      }
    }
  };
  const fetches = [...Map.groupBy(wanted, ({ sha256 }) => sha256)].map(([sha256, captures]) =>
    atOnce(() => fetchOne(sha256, captures[0]?.bytes ?? 0, captures.length)),
  );
  await Promise.all(fetches);
  if (failure !== undefined) {
    await discard();
    throw failure.cause;
  }
  return {
    isHeld: (sha256) => held.has(sha256),
    isSettled: (sha256) => held.has(sha256) || missing.has(sha256),
    recorded: (database) => {
      // Without a record that names it, an object is asked for again.
      const isNamed = (sha256: string) => blobBytes(database, sha256) !== undefined;
      for (const [sha256, why] of absent)
        if (isNamed(sha256)) noteAbsent(database, mirroring, { sha256, why }, store.instant());
      for (const sha256 of given)
        if (isNamed(sha256)) cameFromPeer(database, { sha256, peer: mirroring.peer.id });
    },
    reservation: { release: () => reservations.forEach((each) => each.release()) },
    discard,
  };
}

/**
 * Receives an object. Other bytes may come from a fault on the way, so they are asked for once more.
 *
 * @returns undefined if they were wrong both times
 */
async function receiveIntact(
  mirroring: Mirroring,
  { sha256, bytes }: { sha256: string; bytes: number },
  received: ReceivedObject[],
): Promise<ReceivedObject | undefined> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const object = await receive(mirroring, sha256, bytes);
    if (object === undefined) continue;
    received.push(object);
    if (object.sha256 === sha256 && object.bytes === bytes) return object;
  }
  return undefined;
}

/** Returns undefined if there are more bytes than these. */
async function receive(
  { receiver, client, signal }: Mirroring,
  sha256: string,
  bytes: number,
): Promise<ReceivedObject | undefined> {
  signal.throwIfAborted();
  try {
    return await receiver.receive(client.stream(`/archive/${sha256}`), bytes);
  } catch (error) {
    if (error instanceof TooManyBytesError) return undefined;
    if (error instanceof RetrievalFailure) throw new RefusedRecordError('no_room', error);
    throw error;
  }
}
