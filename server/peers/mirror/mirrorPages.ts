import { z } from 'zod';
import { BROWSER } from '../../../shared/collection/observers.ts';
import { markedPageSchema, type RecordedPage } from '../../../shared/collection/page.ts';
import { certificatesOf, type RecordedRetrieval } from '../../../shared/collection/retrieval.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { MirrorRefusal } from '../../../shared/node/peer.ts';
import { pageIdSchema, sourceIdSchema } from '../../../shared/values/digest.ts';
import { recordVersion } from '../../collection/captures/capture.ts';
import { isOfHidden, showsGivenUp } from '../../collection/pages/hiddenPages.ts';
import { withHeldCertificates } from '../../collection/record/objectReceiver.ts';
import { findOrAddPausedSource, sourceIdOf } from '../../collection/sources/sources.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { newestCaptureUntil } from '../../store/sqlite/collection/captures.ts';
import { insertPage, pageById } from '../../store/sqlite/collection/pages.ts';
import { insertRetrieval, retrievalById } from '../../store/sqlite/collection/retrievals.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { fromPeer } from '../../store/sqlite/node/peerOrigins.ts';
import { listOf } from '../peerClient.ts';
import { isMissingAtPeer } from './absent.ts';
import { coveredRetrievals, fetchObjects, normalUrl, prove } from './mirrorSources.ts';
import { RefusedRecordError, refusalOf } from './mirrorTally.ts';
import { coveredPages, type Mirroring, noSuchList, type Progress } from './remoteLog.ts';

const MAX_LIST_BYTES = 4 * 1_048_576;
const MAX_RECORD_BYTES = 32 * 1_048_576;
/** A page shows a text, a document and a picture. */
const SHOWN = 3;

/** What is read of a page capture before its record is proven. */
const listedPage = z.object({
  id: pageIdSchema,
  ledger_entry: z.int().min(1),
  observer: z.string().optional(),
  source: sourceIdSchema,
});
const pageList = z.object({ items: listOf(listedPage) });

/**
 * Takes the page captures that a peer made itself, each with its parts. Its record is proven to be in the peer's ledger,
 * and so is each part. Here it is a capture by that peer: what its browser showed has its own sequence of events.
 *
 * @param stopped the sources of which nothing more may be recorded in this run; gets those of pages that failed by an error
 * @returns how many of them are held now
 * @throws PeerError; the signal's reason
 */
export async function mirrorPages(
  mirroring: Mirroring,
  selection: true | readonly string[],
  before: Progress,
  stopped: Set<string>,
): Promise<number> {
  const { tally, store } = mirroring;
  let held = 0;
  for (const selected of selection === true ? [undefined] : selection) {
    for (const { id, source, ledger_entry } of await newPages(mirroring, selected, before.size)) {
      if (tally.shouldStop) return held;
      mirroring.signal.throwIfAborted();
      try {
        if (pageById(store.read, id)) tally.alreadyHeld += 1;
        else if (stopped.has(source)) continue;
        else if (!(await takePage(mirroring, id, ledger_entry))) {
          stopped.add(source);
          continue;
        }
        held += 1;
      } catch (error) {
        if (!isSettled(error)) stopped.add(source);
        tally.refuse(refusalOf(error));
      }
    }
  }
  return held;
}

const SETTLED: ReadonlySet<MirrorRefusal> = new Set(['missing_object', 'missing_reference', 'released']);

/** Whether a page is refused for what it is, or the peer does not have it: another run would hardly bring it. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof RefusedRecordError)) return isMissingAtPeer(error);
  return SETTLED.has(error.reason);
}

/**
 * Lists the peer's own page captures after entry `after` that the verified checkpoint covers, oldest first. The peer lists
 * them by the time when they began, and one that began earlier may have been recorded later. So the list is read until it
 * has every one that the ledger has.
 */
async function newPages(mirroring: Mirroring, source: string | undefined, after: number) {
  const recorded = after === 0 ? undefined : await recordedPages(mirroring, after);
  if (recorded?.size === 0) return [];
  const found: z.output<typeof listedPage>[] = [];
  const selected: Record<string, string> = source === undefined ? {} : { source };
  const pages = coveredPages(mirroring, {
    read: async (before: string) => {
      const query = new URLSearchParams({ ...selected, ...(before !== '' && { before }) });
      const path = `/archive/pages?${query.toString()}`;
      const { items } = await mirroring.client.json(path, pageList, MAX_LIST_BYTES).catch(noSuchList);
      return { items, next: items.at(-1)?.id ?? null };
    },
    first: '',
    order: 'none',
    place: ({ ledger_entry }) => ledger_entry,
    entry: ({ ledger_entry }) => ledger_entry,
    after,
  });
  for await (const items of pages) {
    found.push(...items.filter(({ observer }) => observer === undefined));
    for (const { id } of items) recorded?.delete(id);
    if (recorded?.size === 0) break;
  }
  return found.sort((left, right) => left.ledger_entry - right.ledger_entry);
}

/** Returns the page captures that the peer's ledger records after an entry. */
async function recordedPages({ log, signal }: Mirroring, after: number): Promise<Set<string>> {
  const recorded = new Set<string>();
  for (let seq = after + 1; seq <= log.size; seq += 1) {
    signal.throwIfAborted();
    const { entry } = await log.entry(seq);
    if (entry.type === 'page.captured') recorded.add(entry.subject);
  }
  return recorded;
}

/** Returns false, and records nothing, if an object of the page failed by an error. */
async function takePage(mirroring: Mirroring, id: string, entry: number): Promise<boolean> {
  const { store, tally } = mirroring;
  const record = await provenPage(mirroring, id, entry);
  requireDocument(store.read, mirroring.peer.name, record);
  const parts = await provenParts(mirroring, record);
  const limit = mirroring.maxObjectMb * MEGABYTE;
  const wanted = parts.flatMap((part) => [
    ...(part.sha256 !== null && part.bytes !== null && part.bytes <= limit
      ? [{ sha256: part.sha256, bytes: part.bytes }]
      : []),
    ...(part.request?.body ? [part.request.body] : []),
    ...certificatesOf(part),
  ]);
  const objects = await fetchObjects(mirroring, wanted);
  try {
    if (!wanted.every(({ sha256 }) => objects.isSettled(sha256))) return false;
    const isHeld = (sha256: string | null | undefined) => !sha256 || objects.isHeld(sha256);
    // A part whose bytes are missing is left out: the list of requests still names it.
    const kept = parts
      .filter((part) => isHeld(part.sha256) && isHeld(part.request?.body?.sha256))
      .map((part) => withHeldCertificates(part, objects.isHeld));
    if (shownIn(kept).length < SHOWN) throw new RefusedRecordError('missing_object');
    const event = await store.write(
      (database) =>
        fromPeer(database, mirroring.origin, () => {
          const written = writePage(database, store.instant(), mirroring.peer.name, record, kept);
          objects.recorded(database);
          return written;
        }),
      { reservation: objects.reservation },
    );
    if (event !== null) tally.events += 1;
    return true;
  } finally {
    await objects.discard();
  }
}

/** @throws RefusedRecordError if the peer's ledger does not record the page capture */
async function provenPage({ client, log }: Mirroring, id: string, seq: number): Promise<RecordedPage> {
  const found = await client.json(`/archive/pages/${id}`, markedPageSchema, MAX_RECORD_BYTES);
  const { ledger_entry, withheld: _withheld, released: _released, ...record } = found;
  const { entry } = await log.entry(seq);
  const isRecorded =
    ledger_entry === seq &&
    record.id === id &&
    record.observer === undefined &&
    entry.type === 'page.captured' &&
    entry.subject === id &&
    entry.digest === fingerprintOf(record);
  if (!isRecorded) throw new RefusedRecordError('wrong_record');
  return record;
}

/** Reads the parts of a page, and what it showed. @throws RefusedRecordError if they are not those of the record */
async function provenParts(mirroring: Mirroring, record: RecordedPage): Promise<RecordedRetrieval[]> {
  const parts: RecordedRetrieval[] = [];
  for await (const items of coveredRetrievals(mirroring, { part_of: record.id }, 1)) {
    for (const item of items) {
      await prove(mirroring, item);
      parts.push(item.retrieval);
    }
    if (parts.length > record.requests.length + SHOWN) throw new RefusedRecordError('wrong_record');
  }
  const isOfPage = parts.every(({ part_of, source }) => part_of === record.id && source === record.source);
  const shown = shownIn(parts);
  const isShown = [record.text, record.document, record.picture].every((sha256) =>
    shown.some((part) => part.sha256 === sha256 && sourceIdOf(normalUrl(part.url)) === record.source),
  );
  if (!isOfPage || !isShown || shown.length !== SHOWN) throw new RefusedRecordError('wrong_record');
  return parts;
}

function shownIn(parts: readonly RecordedRetrieval[]): RecordedRetrieval[] {
  return parts.filter(({ observer }) => observer === BROWSER);
}

/**
 * Returns the capture here of the document from which a peer drew a page.
 *
 * @throws RefusedRecordError if there is none, or if the page shows bytes that were given up here
 */
function requireDocument(
  database: ReadDatabase,
  peer: string,
  { id, source: sourceId, started_at: at, requests }: RecordedPage,
): number {
  const source = sourceById(database, sourceId);
  const retrieval = source && newestCaptureUntil(database, { source_key: source.key, observer: peer, at });
  if (retrieval === undefined) throw new RefusedRecordError('missing_reference');
  const drawnFrom = retrievalById(database, retrieval)?.sha256 ?? null;
  if (showsGivenUp(database, { id, drawnFrom, requests })) throw new RefusedRecordError('released');
  return retrieval;
}

const MAX_PEER_NAME = 90;

/** Writes a page capture with its parts. Returns the number of the event, or null if the text is the same as before. */
function writePage(
  database: WriteDatabase,
  now: string,
  peer: string,
  record: RecordedPage,
  parts: readonly RecordedRetrieval[],
): number | null {
  const url = shownIn(parts)[0]?.url ?? record.url;
  const source = findOrAddPausedSource(database, record.source, url, now);
  const { key: source_key } = source;
  const browser = `${peer.slice(0, MAX_PEER_NAME).trim()} (${BROWSER})`;
  let text = 0;
  for (const { id: _id, source: _source, capture: _capture, ...part } of parts) {
    const { sha256, bytes } = part;
    if (sha256 !== null && bytes !== null) createBlobRowIfAbsent(database, { sha256, bytes, stored_at: now });
    const isShown = part.observer === BROWSER;
    const id = insertRetrieval(database, {
      ...part,
      source_key,
      round: null,
      observer: isShown ? browser : peer,
      observed_at: now,
      original_observed_at: part.original_observed_at ?? part.observed_at,
    });
    if (isShown && sha256 === record.text && text === 0) text = id;
  }
  // Checked again: bytes may have been released during the download, and only the recorded parts name what was loaded in pieces.
  const retrieval = requireDocument(database, peer, record);
  const drawnFrom = retrievalById(database, retrieval)?.sha256 ?? null;
  // The record here is a new one, which does not quote what is withheld here.
  const title = isOfHidden(database, { ...record, drawnFrom }) ? '' : record.title;
  const page: RecordedPage = { ...record, title, retrieval, observer: peer };
  const entry = appendEntry(database, {
    type: 'page.captured',
    subject: page.id,
    digest: fingerprintOf(page),
    at: now,
  });
  insertPage(database, { ...page, source_key, ledger_entry: entry.seq });
  return recordVersion(database, now, source, {
    source_key,
    retrieval: text,
    observer: browser,
    observed_at: now,
    original_observed_at: record.started_at,
    sha256: record.text,
    page_label: null,
    page: page.id,
  });
}
