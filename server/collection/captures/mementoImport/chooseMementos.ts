import type { MementoImport } from '../../../../shared/collection/captures.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Attempt } from '../../fetch/attempt.ts';
import { fetchObject } from '../../fetch/fetchObject.ts';
import type { MementoServices } from '../services.ts';
import { InvalidTimeMapError, type ListedMemento, parseTimeMap } from './parseTimeMap.ts';

/** A memento to be fetched. */
export interface ChosenMemento extends ListedMemento {
  original: string;
}

/** Limits on the size of one page of a TimeMap, the number of pages, and the captures listed on all of them. */
const MAX_PAGE_BYTES = 16_777_216;
const MAX_PAGES = 100;
const MAX_LISTED = 500_000;

/**
 * Reads all pages of a TimeMap and selects the requested mementos, oldest first.
 *
 * @returns the mementos, how many exceed the limit, and whether the TimeMap is at a private address.
 * @throws Problem `invalid_capture`; HostBackoffError; the signal's reason.
 */
export async function chooseMementos(
  services: MementoServices,
  request: MementoImport,
  signal: AbortSignal,
): Promise<{ chosen: ChosenMemento[]; beyond: number; isPrivate: boolean | undefined }> {
  const pages = new Set([new URL(request.timemap).href]);
  const found = new Map<string, ChosenMemento>();
  let original: string | null = null;
  let isPrivate: boolean | undefined;
  // Iterating a set includes the elements added meanwhile.
  for (const url of pages) {
    if (pages.size > MAX_PAGES) throw unreadable(`It has more than ${MAX_PAGES} pages.`);
    const attempt = await fetchPage(services, request, { url, isPrivate, signal });
    isPrivate ??= attempt.isPrivate;
    const page = await readPage(attempt);
    original ??= page.original;
    for (const memento of page.mementos) {
      const captured = memento.original ?? page.original ?? original;
      if (captured !== null && isWithin(memento.at, request))
        found.set(memento.uri, { ...memento, original: captured });
    }
    for (const more of page.more) pages.add(more);
    if (found.size > MAX_LISTED) throw unreadable(`It lists more than ${MAX_LISTED} captures.`);
  }
  const sorted = [...found.values()].sort((left, right) => compare(left.at ?? '', right.at ?? ''));
  const chosen = sorted.slice(0, request.limit);
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

function fetchPage(
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
    receive: receiveText,
    allowPrivateAddress: isPrivate,
    signal,
  });
}

async function receiveText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw unreadable(`One of its pages has more than ${maxBytes} bytes.`);
  }
  return Buffer.concat(held, bytes).toString('utf8');
}

async function readPage({ received, error, status, final_url }: Page) {
  if (received === null || error !== null)
    throw unreadable(
      `It could not be fetched: ${status === null ? (error ?? 'no answer') : `the answer was ${status}`}.`,
    );
  try {
    return await parseTimeMap(received, final_url);
  } catch (failure) {
    if (failure instanceof InvalidTimeMapError) throw unreadable(failure.message);
    throw failure;
  }
}

function unreadable(why: string): Problem {
  return new Problem('invalid_capture', `This TimeMap cannot be read. ${why}`);
}
