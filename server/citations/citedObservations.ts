import { type Event } from '../../shared/collection/event.ts';
import { eventTitle } from '../../shared/collection/eventText.ts';
import { BROWSER, foreignWords, handedInWords, SELF } from '../../shared/collection/observers.ts';
import type { PageCapture } from '../../shared/collection/page.ts';
import type { ViewQuery } from '../../shared/collection/view.ts';
import type { Texts } from '../collection/derived/derived.ts';
import { requirePage } from '../collection/pages/readPages.ts';
import { readEvent } from '../collection/timeline/events.ts';
import { requireObject } from '../collection/timeline/objects.ts';
import { requireViewedRetrieval } from '../collection/view/readView.ts';
import type { DamageContext } from '../fixity/audit.ts';
import { contentTypeOfObject } from '../store/sqlite/collection/retrievals.ts';
import { sourceById } from '../store/sqlite/collection/sources.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { areReadable, type Reader } from '../withholding/withholding.ts';
import { type CitationContext, type CitedWork, dayOf, oneLine } from './citedWork.ts';

/** What observations are cited from. */
export interface ObservationServices {
  store: DamageContext;
  /** Titles are derived from the observed bytes. */
  texts: Pick<Texts, 'textOf'>;
}

/** Something on the web, as somebody observed it. */
interface Observation {
  /** The key in a bibliography. */
  key: string;
  /** The path of the page that shows it. */
  path: string;
  source: Pick<Event['source'], 'url' | 'name' | 'agency'>;
  /** What it is called where its bytes have no title, or a reader may not read them; by default as the source is. */
  name?: string;
  at: string;
  observer: string;
  /** Null if there was no version: the source could not be retrieved. */
  sha256: string | null;
  /** The page capture, if a browser drew it. */
  page?: PageCapture | undefined;
}

/** Returns the observation of an event as it is cited. @throws Problem `not_found`, `derivation_busy` */
export function citedEvent(
  services: ObservationServices,
  id: string,
  from: CitationContext,
  reader: Reader,
): Promise<CitedWork> {
  const { store } = services;
  const event = readEvent(store, id);
  const { source, observer, sha256 } = event;
  const name = source.name || source.url;
  return cited(services, from, reader, {
    key: `event-${id}`,
    path: `/timeline/${id}`,
    source,
    name: sha256 === null ? eventTitle(event, name) : name,
    at: event.original_observed_at ?? event.observed_at,
    observer,
    sha256,
    page: event.page === null ? undefined : requirePage(store, event.page),
  });
}

/** Returns an object as one of its retrievals brought it, as it is cited. @throws Problem `not_found`, `derivation_busy` */
export function citedObject(
  services: ObservationServices,
  { sha256, query }: { sha256: string; query: ViewQuery },
  from: CitationContext,
  reader: Reader,
): Promise<CitedWork> {
  const { store } = services;
  requireObject(store.read, sha256);
  const { source_id, url, name, moment, observer, part_of } = requireViewedRetrieval(store, sha256, query);
  const page = part_of?.startsWith('pg_') ? requirePage(store, part_of) : undefined;
  const isDrawn = page && [page.document, page.text, page.picture].includes(sha256);
  return cited(services, from, reader, {
    key: `sha256-${sha256.slice(0, 20)}`,
    path: `/view/${sha256}?${new URLSearchParams({ source: source_id, at: moment }).toString()}`,
    source: { url, name, agency: sourceById(store.read, source_id)?.agency ?? '' },
    at: moment,
    observer,
    sha256,
    page: isDrawn ? page : undefined,
  });
}

/** Returns a page capture as it is cited. @throws Problem `not_found`, `derivation_busy` */
export function citedPage(
  services: ObservationServices,
  id: string,
  from: CitationContext,
  reader: Reader,
): Promise<CitedWork> {
  const { store } = services;
  const page = requirePage(store, id);
  return cited(services, from, reader, {
    key: id,
    path: `/pages/${id}`,
    source: sourceById(store.read, page.source) ?? { url: page.url, name: '', agency: '' },
    at: page.started_at,
    observer: page.observer ?? BROWSER,
    sha256: page.document,
    page,
  });
}

async function cited(
  services: ObservationServices,
  { origin, publisher }: CitationContext,
  reader: Reader,
  { key, path, source, name = source.name, at, observer, sha256, page }: Observation,
): Promise<CitedWork> {
  const { read } = services.store;
  const title = page ? titleOfPage(read, page, reader) : await titleOfObject(services, sha256, reader);
  const agency = oneLine(source.agency);
  const mediaType = sha256 === null ? undefined : contentTypeOfObject(read, sha256);
  return {
    id: key,
    kind: 'observation',
    title: oneLine(title) || oneLine(name) || source.url,
    authors: agency === '' ? [] : [{ name: agency, orcid: null, affiliation: '', isOrganization: true }],
    date: dayOf(at),
    publisher,
    url: origin + path,
    digest: sha256,
    version: undefined,
    abstract: '',
    keywords: [],
    license: null,
    bytes: sha256 === null ? 0 : (blobBytes(read, sha256) ?? 0),
    files: sha256 === null ? 0 : 1,
    mediaTypes: mediaType === undefined ? [] : [mediaType],
    relations: [{ relation: 'IsVersionOf', identifier: source.url }],
    observed: {
      address: source.url,
      site: URL.parse(source.url)?.hostname ?? '',
      at,
      by: byWords(observer),
      precision: page ? 'page' : 'part',
    },
  };
}

function byWords(observer: string): string {
  if (observer === SELF) return '';
  const handedIn = handedInWords(observer);
  if (handedIn !== undefined) return `, ${handedIn}`;
  return observer === BROWSER ? ', as a browser drew it' : ` by ${foreignWords(oneLine(observer))}`;
}

/** A title is as readable as the bytes that it is of. */
function titleOfPage(
  read: DamageContext['read'],
  { title, document, text, picture }: PageCapture,
  reader: Reader,
): string {
  return areReadable(read, [document, text, picture], reader) ? title : '';
}

async function titleOfObject(
  { store, texts }: ObservationServices,
  sha256: string | null,
  reader: Reader,
): Promise<string> {
  if (sha256 === null || !areReadable(store.read, [sha256], reader)) return '';
  const { title } = await texts.textOf(sha256);
  // The bytes may have been withheld meanwhile.
  return areReadable(store.read, [sha256], reader) ? (title ?? '') : '';
}
