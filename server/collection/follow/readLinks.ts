import type { PageLabel } from '../../../shared/collection/event.ts';
import type { Follow } from '../../../shared/collection/follow.ts';
import { contentEncodingOf } from '../../../shared/collection/retrieval.ts';
import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import {
  type LinksResult,
  type LinksTask,
  NotDerivableError,
  type ObjectToRead,
} from '../derived/process/tasks.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import type { FetchServices } from '../fetch/requester.ts';
import type { Profiles } from '../profiles/profiles.ts';
import { describePage } from '../record/quality/judgePage.ts';
import { secretsOf } from '../record/secrets.ts';
import { HostBackoffError } from '../schedule/hostRateLimiter.ts';
import { allowsPrivateAddress, isPrivateHost } from '../sources/privateSources.ts';

export interface FollowServices {
  store: Store;
  deriver: Pick<Deriver, 'derive'>;
  profiles: Pick<Profiles, 'sessionOf'>;
  fetching: FetchServices;
  settings: () => Settings;
}

/** A source whose links are read; it has no key if it is not watched. */
export type LinkingSource = Pick<
  SourceRow,
  'url' | 'headers' | 'ignore_robots' | 'allow_private' | 'needs_login' | 'profile'
> & { key?: number; follow: Follow };

/** A document of a source, and the address that answered with it. */
export interface LinkingDocument {
  object: ObjectToRead;
  url: string;
}

interface ReadOptions {
  /** Addresses that were found before. */
  known: readonly string[];
  /** The most sitemaps of an index that are fetched. */
  maxSitemaps?: number;
  signal: AbortSignal;
}

/** What the newest version of a source links to or lists. */
export interface ReadLinks {
  links: LinksResult['links'];
  /** Of the known addresses, those that are still there. */
  linked: ReadonlySet<string>;
  listed: number;
  complete: boolean;
  /** Why not all of it could be read, as a sentence; null if it could. */
  problem: string | null;
  isIndex: boolean;
}

const READ_MS = 30_000;
/** A document that is not stored is in memory while it is read. Sitemaps have at most 50 MiB, and are usually compressed. */
const MAX_DOCUMENT_MB = 10;
/** The time for the sitemaps of an index. A slow server must not hold up the round. */
const INDEX_MS = 300_000;

/**
 * Reads what a document links to, without what must not be followed: addresses in the owner's own network, unless the
 * source is there too, and addresses with what is secret of its requests.
 *
 * @throws NotDerivableError if it cannot be read at all; LoginMissingError; the signal's reason.
 */
export async function readLinks(
  services: FollowServices,
  source: LinkingSource,
  document: LinkingDocument,
  options: ReadOptions,
): Promise<ReadLinks> {
  const read = await readAll(services, source, document, options);
  const { isPrivateAddress } = services.fetching;
  const mayBePrivate = allowsPrivateAddress(source, isPrivateAddress);
  // The addresses of sources are public.
  const secrets = secretsOf(source, await services.profiles.sessionOf(source));
  return {
    ...read,
    links: read.links.filter(
      ({ url, title }) =>
        (mayBePrivate || !isPrivateHost(url, isPrivateAddress)) && !secrets?.isIn(`${url} ${title}`),
    ),
  };
}

/**
 * Reads the links of a document in the derive process. The sitemaps of an index are fetched as the source itself is, one
 * after another, and are not kept. Sitemaps within those are not read.
 */
async function readAll(
  services: FollowServices,
  source: LinkingSource,
  { object, url }: LinkingDocument,
  { known, maxSitemaps = Number.POSITIVE_INFINITY, signal }: ReadOptions,
): Promise<ReadLinks> {
  const { store, deriver } = services;
  const hosts = [...new Set([URL.parse(source.url)?.host ?? '', URL.parse(url)?.host ?? ''])];
  const task = { task: 'links', url, self: source.url, follow: source.follow, hosts, known } as const;
  const read = (document: LinkingDocument) =>
    deriver.derive({ ...task, ...document } satisfies LinksTask, { timeoutMs: READ_MS, priority: 'low' });
  const first = await read({ object, url });
  const links = new Map(first.links.map((link) => [link.url, link]));
  const all = {
    linked: new Set(first.linked),
    listed: first.listed,
    complete: first.complete,
  };
  let failed = 0;
  const until = store.clock.now() + INDEX_MS;
  const sitemaps = first.sitemaps.slice(0, maxSitemaps);
  for (const sitemap of sitemaps) {
    signal.throwIfAborted();
    try {
      if (store.clock.now() > until)
        throw new NotDerivableError('time_out', 'Reading the sitemaps takes too long.');
      const found = await read(await fetchDocument(services, source, sitemap, signal));
      for (const link of found.links) links.set(link.url, link);
      for (const address of found.linked) all.linked.add(address);
      all.listed += found.listed;
      all.complete &&= found.complete && found.sitemaps.length === 0;
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      failed += 1;
    }
  }
  const isCut = sitemaps.length < first.sitemaps.length;
  const complete = all.complete && failed === 0 && !isCut;
  const problem = isCut
    ? `Only the first ${sitemaps.length} of ${first.sitemaps.length} sitemaps were read.`
    : problemOf({ failed, sitemaps: sitemaps.length, complete });
  return { links: [...links.values()], ...all, complete, problem, isIndex: first.sitemaps.length > 0 };
}

function problemOf({ failed, sitemaps, complete }: { failed: number; sitemaps: number; complete: boolean }) {
  if (failed > 0) return `${failed} of ${sitemaps} sitemaps could not be read.`;
  return complete ? null : 'It is too long to be read completely.';
}

/**
 * Fetches a document as the source is fetched, and keeps it in memory only.
 *
 * @throws NotDerivableError with a sentence if it cannot be fetched, or is not what it should be; the signal's reason.
 */
export async function fetchDocument(
  { fetching, settings }: FollowServices,
  source: LinkingSource,
  url: string,
  signal: AbortSignal,
): Promise<LinkingDocument> {
  const { user_agent, request_timeout_seconds } = settings();
  const attempt = await fetchObject(fetching, {
    url,
    headers: URL.parse(url)?.origin === URL.parse(source.url)?.origin ? source.headers : {},
    userAgent: user_agent,
    ignoreRobots: source.ignore_robots,
    timeoutMs: request_timeout_seconds * 1000,
    maxBytes: MAX_DOCUMENT_MB * MEGABYTE,
    validators: async () => undefined,
    receive: receiveBytes,
    ...(allowsPrivateAddress(source, fetching.isPrivateAddress) ? {} : { allowPrivateAddress: false }),
    signal,
  }).catch((error: unknown) => {
    if (error instanceof HostBackoffError) throw new NotDerivableError('unsupported', error.message, error);
    throw error;
  });
  const { received, error, status, final_url, content_type, headers } = attempt;
  if (!received || error !== null)
    throw new NotDerivableError(
      'unsupported',
      `${url} could not be fetched: ${failureWords(error ?? 'http_error', status)}.`,
    );
  if (isWallOrError((await describePage({ ...attempt, url })).page_label)) throw wallOrError();
  return {
    url: final_url,
    object: {
      sha256: '',
      file: '',
      bytes: received,
      contentType: content_type,
      contentEncoding: contentEncodingOf(headers),
      ...(source.key !== undefined && { source: source.key }),
    },
  };
}

/** A bot wall or an error page has other links than the page, or none. */
export function isWallOrError(label: PageLabel | null): boolean {
  return label !== null && label.label !== 'script_shell';
}

export function wallOrError(): NotDerivableError {
  return new NotDerivableError(
    'unsupported',
    'The server answered with a check for robots or an error page in place of the page.',
  );
}

async function receiveBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const received: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
    // The memory of the chunk is reused.
    received.push(Uint8Array.from(chunk));
  }
  return Buffer.concat(received);
}
