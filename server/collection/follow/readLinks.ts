import type { Follow } from '../../../shared/collection/follow.ts';
import { contentEncodingOf } from '../../../shared/collection/retrieval.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import { type Deriver, objectToRead } from '../derived/process/deriver.ts';
import {
  type LinksResult,
  type LinksTask,
  NotDerivableError,
  type ObjectToRead,
} from '../derived/process/tasks.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import type { FetchServices } from '../fetch/requester.ts';
import { HostBackoffError } from '../schedule/hostRateLimiter.ts';
import { allowsPrivateAddress } from '../sources/privateSources.ts';

export interface FollowServices {
  store: Store;
  deriver: Pick<Deriver, 'derive'>;
  fetching: FetchServices;
  settings: () => Settings;
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
/** A sitemap of an index is kept in memory while it is read. Sitemaps have at most 50 MiB, and are usually compressed. */
const MAX_SITEMAP_MB = 10;
/** The time for the sitemaps of an index. A slow server must not hold up the round. */
const INDEX_MS = 300_000;

/**
 * Reads the links of a version in the derive process. The sitemaps of an index are fetched as the source itself is, one
 * after another, and are not kept. Sitemaps within those are not read.
 *
 * @throws NotDerivableError if it cannot be read at all; the signal's reason.
 */
export async function readLinks(
  services: FollowServices,
  source: SourceRow & { follow: Follow; last_sha256: string },
  { url, known, signal }: { url: string; known: readonly string[]; signal: AbortSignal },
): Promise<ReadLinks> {
  const { store, deriver } = services;
  const hosts = [...new Set([URL.parse(source.url)?.host ?? '', URL.parse(url)?.host ?? ''])];
  const task = { task: 'links', url, self: source.url, follow: source.follow, hosts, known } as const;
  const read = (object: ObjectToRead, address: string) =>
    deriver.derive({ ...task, object, url: address } satisfies LinksTask, {
      timeoutMs: READ_MS,
      priority: 'low',
    });
  const first = await read(objectToRead(store, source.last_sha256), url);
  const links = new Map(first.links.map((link) => [link.url, link]));
  const all = {
    linked: new Set(first.linked),
    listed: first.listed,
    complete: first.complete,
  };
  let failed = 0;
  const until = store.clock.now() + INDEX_MS;
  for (const sitemap of first.sitemaps) {
    signal.throwIfAborted();
    try {
      if (store.clock.now() > until)
        throw new NotDerivableError('time_out', 'Reading the sitemaps takes too long.');
      const { object, final_url } = await fetchSitemap(services, source, sitemap, signal);
      const found = await read(object, final_url);
      for (const link of found.links) links.set(link.url, link);
      for (const address of found.linked) all.linked.add(address);
      all.listed += found.listed;
      all.complete &&= found.complete && found.sitemaps.length === 0;
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      failed += 1;
    }
  }
  const problem = problemOf({ failed, sitemaps: first.sitemaps.length, complete: all.complete });
  const complete = all.complete && failed === 0;
  return { links: [...links.values()], ...all, complete, problem, isIndex: first.sitemaps.length > 0 };
}

function problemOf({ failed, sitemaps, complete }: { failed: number; sitemaps: number; complete: boolean }) {
  if (failed > 0) return `${failed} of ${sitemaps} sitemaps could not be read.`;
  return complete ? null : 'It is too long to be read completely.';
}

/** Fetches a sitemap of an index as the source is fetched. @throws NotDerivableError; the signal's reason. */
async function fetchSitemap(
  { fetching, settings }: FollowServices,
  source: SourceRow,
  url: string,
  signal: AbortSignal,
): Promise<{ object: ObjectToRead; final_url: string }> {
  const { user_agent, request_timeout_seconds } = settings();
  const attempt = await fetchObject(fetching, {
    url,
    headers: URL.parse(url)?.origin === URL.parse(source.url)?.origin ? source.headers : {},
    userAgent: user_agent,
    ignoreRobots: source.ignore_robots,
    timeoutMs: request_timeout_seconds * 1000,
    maxBytes: MAX_SITEMAP_MB * MEGABYTE,
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
      `The sitemap ${url} could not be fetched: ${error ?? status}.`,
    );
  return {
    final_url,
    object: {
      sha256: '',
      file: '',
      bytes: received,
      contentType: content_type,
      contentEncoding: contentEncodingOf(headers),
      source: source.key,
    },
  };
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
