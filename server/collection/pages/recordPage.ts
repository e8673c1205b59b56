import { BROWSER } from '../../../shared/collection/observers.ts';
import type { PageCapture, RecordedPage } from '../../../shared/collection/page.ts';
import type { PageError } from '../../../shared/collection/source.ts';
import type { DrawnByBrowser } from '../../browser/closedBrowser.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { lastCapturedVersion } from '../../store/sqlite/collection/captures.ts';
import { insertPage, newestPage, pictureOfLastEvent } from '../../store/sqlite/collection/pages.ts';
import {
  insertRetrieval,
  type NewRetrieval,
  retrievalById,
} from '../../store/sqlite/collection/retrievals.ts';
import { type SourceRow, sourceByKey, updatePageError } from '../../store/sqlite/collection/sources.ts';
import { firstEventWith } from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { recordLogin, withholdPage } from '../profiles/logins.ts';
import type { ProfileSession } from '../profiles/profiles.ts';
import { type ObjectReceiver, type ReceivedObject, withHeldCertificates } from '../record/objectReceiver.ts';
import { recordEvent } from '../record/recordRetrieval.ts';
import type { Secrets } from '../record/secrets.ts';
import { isOfHidden, showsGivenUp } from './hiddenPages.ts';
import type { FetchedPart } from './webGate.ts';

/** What the caller knows of a drawn page besides the drawing. */
interface PageToRecord {
  source: SourceRow;
  /** The retrieval that brought the document. */
  retrieval: number;
  id: string;
  seed: string;
  started_at: string;
  ended_at: string;
  viewport: RecordedPage['viewport'];
  drawn: DrawnByBrowser;
  parts: readonly FetchedPart[];
  /** The login with which it was drawn. Then it is withheld. */
  login: ProfileSession | undefined;
  /** The secrets of its requests, which are not recorded. */
  secrets: Secrets | undefined;
}

/** How a page differs from the capture before it. */
export interface PageChange {
  /** Whether the text differs by more than the source's noise rules explain. */
  isTextChanged: boolean;
  /** Whether the watched region of the picture differs; false if none is watched. */
  isRegionChanged: boolean;
  picture_changed: boolean | null;
  changed_pixels: number | null;
}

export interface RecordedPageCapture {
  page: PageCapture;
  /** The id of the event; null if nothing that counts differs. */
  event: number | null;
}

/** There was no space for the objects of a page. Nothing of it is kept. */
export class NoSpaceForPageError extends Error {
  constructor() {
    super('There is no space for the page.');
    this.name = 'NoSpaceForPageError';
  }
}

/** The document was given up while its page was drawn. Nothing of it is kept: what was drawn would say the same again. */
export class ReleasedDocumentError extends Error {
  constructor() {
    super('The document was given up while its page was drawn.');
    this.name = 'ReleasedDocumentError';
  }
}

/** The page shows bytes that were given up. Nothing of it is kept: its picture would show them again. */
export class ReleasedPartError extends Error {
  constructor() {
    super('The page shows bytes that were given up.');
    this.name = 'ReleasedPartError';
  }
}

/** The three objects that a drawn page gives. */
export function outputsOf({ document, text, picture }: DrawnByBrowser) {
  return {
    document: Buffer.from(document.toWellFormed(), 'utf8'),
    text: Buffer.from(text.toWellFormed(), 'utf8'),
    picture,
  };
}

const MEDIA_TYPES = {
  text: 'text/plain; charset=utf-8',
  document: 'text/html; charset=utf-8',
  picture: 'image/png',
} as const;

/**
 * Keeps a page capture: first the bytes of all its objects become durable, then one transaction writes their retrievals,
 * the capture with its ledger entry, and the event if the page says something else than before. A crash in between leaves
 * objects that no row names, and nothing of the capture.
 *
 * @param compare compares the page with the capture before it, once its objects can be read.
 * @throws NoSpaceForPageError, ReleasedDocumentError, ReleasedPartError
 */
export async function recordPage(
  { store, receiver }: { store: Store; receiver: ObjectReceiver },
  given: PageToRecord,
  compare: (outputs: { text: string; picture: string }) => Promise<PageChange>,
): Promise<RecordedPageCapture> {
  const page = { ...given, drawn: withoutSecrets(given) };
  const outputs = outputsOf(page.drawn);
  const kept = new Map<string, ReceivedObject>();
  const certificates = await receiver.keepCertificates(
    new Map(page.parts.flatMap((part) => [...part.certificates])),
  );
  try {
    const sizes = new Map<string, number>();
    const keep = async (bytes: Buffer): Promise<string> => {
      const object = await receiver.receive(oneChunk(bytes), bytes.length);
      const { sha256 } = object;
      if (kept.has(sha256)) {
        await object.discard();
        return sha256;
      }
      kept.set(sha256, object);
      sizes.set(sha256, bytes.length);
      const { isStored, reservation } = await object.keep();
      // The space is counted by the row from now on; the few milliseconds until then are not worth holding it.
      reservation?.release();
      if (!isStored) throw new NoSpaceForPageError();
      return sha256;
    };
    const digests = {
      document: await keep(outputs.document),
      text: await keep(outputs.text),
      picture: await keep(outputs.picture),
    };
    for (const { body, requestBody } of page.parts) {
      if (body) await keep(body);
      if (requestBody) await keep(requestBody);
    }
    const change = await compare(digests);
    const recorded = await store.write((database) => {
      const drawn = retrievalById(database, page.retrieval)?.sha256 ?? null;
      if (drawn !== null && isReleased(database, drawn)) throw new ReleasedDocumentError();
      const now = store.instant();
      for (const [sha256, bytes] of sizes) createBlobRowIfAbsent(database, { sha256, bytes, stored_at: now });
      for (const { retrieval } of page.parts)
        if (retrieval)
          insertRetrieval(database, {
            ...withHeldCertificates({ ...redacted(page, retrieval), observed_at: now }, (sha256) =>
              certificates.held.has(sha256),
            ),
            source_key: page.source.key,
            part_of: page.id,
          });
      if (showsGivenUp(database, { id: page.id, drawnFrom: drawn, requests: requestsOf(page.parts) }))
        throw new ReleasedPartError();
      return writeCapture(database, now, page, { digests, sizes, change });
    });
    certificates.recorded();
    for (const object of kept.values()) await object.recorded();
    return recorded;
  } finally {
    await certificates.discard();
    for (const object of kept.values()) await object.discard();
  }
}

/** A page may contain secrets, in its address or in a field. What is recorded of it does not. */
function withoutSecrets({ drawn, secrets }: PageToRecord): DrawnByBrowser {
  if (!secrets) return drawn;
  const { url, title, document, text } = drawn;
  return {
    ...drawn,
    url: secrets.without(url),
    title: secrets.without(title),
    document: secrets.without(document),
    text: secrets.without(text),
  };
}

function redacted<Retrieval extends NonNullable<FetchedPart['retrieval']>>(
  { secrets }: PageToRecord,
  retrieval: Retrieval,
): Retrieval {
  return secrets?.redacted(retrieval) ?? retrieval;
}

interface Written {
  digests: { document: string; text: string; picture: string };
  sizes: ReadonlyMap<string, number>;
  change: PageChange;
}

function writeCapture(
  database: WriteDatabase,
  now: string,
  { source, retrieval, id, seed, started_at, ended_at, viewport, drawn, parts, login, secrets }: PageToRecord,
  { digests, sizes, change }: Written,
): RecordedPageCapture {
  const { url, title, browser, environment, outcome, reason } = drawn;
  const drawnFrom = retrievalById(database, retrieval)?.sha256 ?? null;
  const ofPage = { id, ...digests, drawnFrom, requests: requestsOf(parts) };
  const record: RecordedPage = {
    id,
    source: source.id,
    retrieval,
    url,
    // Records are public, and a title may say what only the login shows, or what is withheld.
    title: login || isOfHidden(database, ofPage) ? '' : cleanTitle(title),
    started_at,
    ended_at,
    browser,
    environment,
    seed,
    viewport,
    outcome,
    reason,
    ...digests,
    picture_changed: change.picture_changed,
    changed_pixels: change.changed_pixels,
    requests: parts.map(({ request }) =>
      secrets ? { ...request, url: secrets.without(request.url) } : request,
    ),
  };
  const shown = (part: keyof typeof MEDIA_TYPES): NewRetrieval => ({
    source_key: source.key,
    part_of: id,
    round: null,
    url: source.url,
    final_url: source.url,
    redirects: [],
    observer: BROWSER,
    observed_at: now,
    original_observed_at: started_at,
    status: null,
    error: null,
    content_type: MEDIA_TYPES[part],
    headers: [],
    request: null,
    sha256: digests[part],
    bytes: sizes.get(digests[part]) ?? 0,
    duration_ms: 0,
    page_label: null,
  });
  const textRetrieval = insertRetrieval(database, shown('text'));
  insertRetrieval(database, shown('document'));
  insertRetrieval(database, shown('picture'));
  const entry = appendEntry(database, {
    type: 'page.captured',
    subject: id,
    digest: fingerprintOf(record),
    at: now,
  });
  insertPage(database, { ...record, source_key: source.key, ledger_entry: entry.seq });
  updatePageError(database, source.key, null);
  if (login) {
    withholdPage(database, { page: id, at: now });
    recordLogin(database, login, { result: 'works', source: source.key, at: now });
  }
  const event = recordPageEvent(database, now, source, {
    id,
    started_at,
    text: digests.text,
    textRetrieval,
    change,
  });
  return { page: { ...record, ledger_entry: entry.seq }, event };
}

const requestsOf = (parts: PageToRecord['parts']) => parts.map(({ request }) => request);

/** The drawn page has a sequence of events of its own, as a third party's captures have. */
function recordPageEvent(
  database: WriteDatabase,
  now: string,
  { key, id: sourceId, url }: SourceRow,
  page: { id: string; started_at: string; text: string; textRetrieval: number; change: PageChange },
): number | null {
  const previous = lastCapturedVersion(database, key, BROWSER) ?? null;
  const current = sourceByKey(database, key);
  const share = page.change.changed_pixels ?? 0;
  const isPictureEvent = share >= (current?.picture_events ?? Number.POSITIVE_INFINITY);
  const isTextEvent = previous === null || (previous !== page.text && page.change.isTextChanged);
  if (!isTextEvent && !isPictureEvent && !page.change.isRegionChanged) return null;
  return recordEvent(
    database,
    now,
    { id: sourceId, url },
    {
      source_key: key,
      retrieval: page.textRetrieval,
      event_type: previous === null ? 'first_seen' : 'changed',
      observer: BROWSER,
      observed_at: now,
      original_observed_at: page.started_at,
      sha256: page.text,
      previous_sha256: previous,
      reverts_to:
        previous === null || !isTextEvent
          ? null
          : (firstEventWith(database, { source_key: key, observer: BROWSER, sha256: page.text }) ?? null),
      page_label: null,
      page: page.id,
    },
  );
}

/** Records that a page could not be drawn. The check of its source did not fail. */
export function recordPageError(
  store: Pick<Store, 'write'>,
  source: Pick<SourceRow, 'key'>,
  error: PageError,
): Promise<void> {
  return store.write((database) => updatePageError(database, source.key, error));
}

/** Returns the digests of the last capture of a source and of its last event, for `compare`. */
export function previousOutputs(
  { read }: Pick<Store, 'read'>,
  sourceKey: number,
): { text: string | null; picture: string | null; eventPicture: string | null } {
  const page = newestPage(read, sourceKey);
  // An event compares with the version of the event before it, which may be older than the newest capture.
  return {
    text: lastCapturedVersion(read, sourceKey, BROWSER) ?? null,
    picture: page?.picture ?? null,
    eventPicture: pictureOfLastEvent(read, sourceKey) ?? null,
  };
}

const MAX_TITLE = 300;

function cleanTitle(title: string): string {
  return Array.from(
    title
      .toWellFormed()
      .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim(),
  )
    .slice(0, MAX_TITLE)
    .join('');
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
