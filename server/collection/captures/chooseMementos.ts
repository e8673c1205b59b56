import type { MementoImport } from '../../../shared/captures.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Attempt } from '../fetch/attempt.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import { InvalidTimeMapError, type ListedMemento, readTimeMap } from './readTimeMap.ts';
import type { MementoServices } from './services.ts';

/** A memento to be asked for. */
export interface Chosen extends ListedMemento {
  original: string;
}

/** One page of a TimeMap is no longer than this, and it has no more pages than that. */
const MAX_PAGE_BYTES = 16_777_216;
const MAX_PAGES = 100;
/** And all of them together list no more than this. */
const MAX_LISTED = 500_000;

/**
 * Reads a TimeMap, all of its pages, and chooses the mementos that were asked for, oldest first.
 *
 * @returns how many lie beyond the limit, and whether the TimeMap was met at a private address.
 * @throws Problem `invalid_capture`; HostBackoffError; the signal's reason.
 */
export async function chooseMementos(
  services: MementoServices,
  asked: MementoImport,
  signal: AbortSignal,
): Promise<{ chosen: Chosen[]; beyond: number; isPrivate: boolean | undefined }> {
  const pages = new Set([new URL(asked.timemap).href]);
  const found = new Map<string, Chosen>();
  let original: string | null = null;
  let isPrivate: boolean | undefined;
  // A set is gone over in its order, with what is added meanwhile.
  for (const url of pages) {
    if (pages.size > MAX_PAGES) throw unreadable(`It has more than ${MAX_PAGES} pages.`);
    const attempt = await askForPage(services, asked, { url, isPrivate, signal });
    isPrivate ??= attempt.isPrivate;
    const page = await readPage(attempt);
    original ??= page.original;
    for (const memento of page.mementos) {
      const of = memento.original ?? page.original ?? original;
      if (of !== null && isWithin(memento.at, asked)) found.set(memento.uri, { ...memento, original: of });
    }
    for (const more of page.more) pages.add(more);
    if (found.size > MAX_LISTED) throw unreadable(`It lists more than ${MAX_LISTED} captures.`);
  }
  const sorted = [...found.values()].sort((left, right) => compare(left.at ?? '', right.at ?? ''));
  const chosen = sorted.slice(0, asked.limit);
  return { chosen, beyond: sorted.length - chosen.length, isPrivate };
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function isWithin(at: string | null, { from, to }: Pick<MementoImport, 'from' | 'to'>): boolean {
  if (at === null) return from === undefined && to === undefined;
  const time = Date.parse(at);
  const isDate = to !== undefined && /^\d{4}-\d\d-\d\d$/.test(to);
  const end = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(isDate ? `${to}T23:59:59.999Z` : to);
  return (from === undefined || time >= Date.parse(from)) && time <= end;
}

type Page = Attempt<string>;

function askForPage(
  { settings, fetching }: MementoServices,
  { ignore_robots }: MementoImport,
  { url, isPrivate, signal }: { url: string; isPrivate: boolean | undefined; signal: AbortSignal },
): Promise<Page> {
  const { user_agent, request_timeout_seconds } = settings();
  return fetchObject(fetching, {
    url,
    headers: { accept: 'application/link-format, application/json;q=0.5, */*;q=0.1' },
    userAgent: user_agent,
    ignoreRobots: ignore_robots,
    timeoutMs: request_timeout_seconds * 1000,
    maxBytes: MAX_PAGE_BYTES,
    validators: async () => undefined,
    receive: textOf,
    allowPrivateAddress: isPrivate,
    signal,
  });
}

async function textOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw unreadable(`A page of it has more than ${maxBytes} bytes.`);
  }
  return Buffer.concat(held, bytes).toString('utf8');
}

async function readPage({ received, error, status, final_url }: Page) {
  if (received === null || error !== null)
    throw unreadable(
      `It could not be fetched: ${status === null ? (error ?? 'no answer') : `the answer was ${status}`}.`,
    );
  try {
    return await readTimeMap(received, final_url);
  } catch (failure) {
    if (failure instanceof InvalidTimeMapError) throw unreadable(failure.message);
    throw failure;
  }
}

function unreadable(why: string): Problem {
  return new Problem('invalid_capture', `This is no TimeMap that can be read. ${why}`);
}
