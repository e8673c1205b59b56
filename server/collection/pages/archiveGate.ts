import { createHash, hash } from 'node:crypto';
import type { PageCapture, PageRequest } from '../../../shared/collection/page.ts';
import { contentEncodingOf } from '../../../shared/collection/retrieval.ts';
import type { ByteBudget, PageAnswer, PageGate, PageRequestToAnswer } from '../../browser/requestGate.ts';
import { isBlobDamageError } from '../../fixity/audit.ts';
import { type HeldAnswer, partsOfPage } from '../../store/sqlite/collection/pages.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isWithheldForLogin } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { decodeContent } from '../fetch/contentCoding.ts';
import { asBrowsersWrite, heldAnswers } from './readPages.ts';

/** Larger objects are not given to a page. */
const MAX_OBJECT_BYTES = 200 * 1_048_576;

/**
 * Answers the requests of a page from the archive alone. Each gets the capture that is nearest to the time of the page:
 * this node's own, or one of a WARC or WACZ file or of a web archive. Nothing is ever fetched.
 */
export class ArchiveGate implements PageGate {
  readonly requests: PageRequest[] = [];
  readonly #store: Store;
  readonly #withLogin: boolean;
  /** The time of the page, in milliseconds since the epoch. */
  readonly #at: number;
  /** The answers of the page capture that is drawn again, in their order. */
  readonly #recorded = new Map<string, HeldAnswer[]>();
  /** The addresses behind a redirect that the archive followed when it fetched them. */
  readonly #behind = new Map<string, HeldAnswer>();
  /** What the page capture that is drawn again was refused, and was not answered at any time. */
  #refusals: ReadonlyMap<string, string> = new Map();
  /** How many redirects of an answer were given: an address may lead to itself. */
  readonly #hopsGiven = new Map<HeldAnswer, number>();

  /**
   * @param page the id of the page capture that is drawn again; its own parts are used first
   * @param document the digest of the document: only one that was got with a login gets what else was
   */
  constructor(
    store: Store,
    at: number,
    { page, document }: { page: Pick<PageCapture, 'id' | 'requests'> | null; document: string | null },
  ) {
    this.#store = store;
    this.#withLogin = isWithheldForLogin(store.read, { sha256: document });
    this.#at = at;
    if (page === null) return;
    this.#refusals = refusalsOf(page);
    for (const part of partsOfPage(store.read, page.id)) {
      const key = `${part.method} ${asBrowsersWrite(part.url)}`;
      this.#recorded.set(key, [...(this.#recorded.get(key) ?? []), part]);
    }
  }

  async answer(
    request: PageRequestToAnswer,
    _signal: AbortSignal,
    budget: ByteBudget,
  ): Promise<PageAnswer | null> {
    const refused = this.#refusals.get(`${request.method} ${asBrowsersWrite(withoutFragment(request.url))}`);
    if (refused !== undefined) return this.#refused(request, refused);
    const held = this.#find(request);
    const answer = held && (await this.#read(held, request.url, budget));
    if (!held || !answer) return this.#refused(request, held && budget.isSpent ? 'limit' : 'not_held');
    const { status, sha256 } = answer;
    this.requests.push({
      url: request.url,
      method: request.method,
      status,
      type: request.type,
      sha256,
      bytes: sha256 === null ? null : answer.body.length,
      from: 'archive',
      reason: null,
      seconds_off: Math.round(Math.abs(Date.parse(held.at) - this.#at) / 1000),
    });
    return answer;
  }

  refuse(request: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>, reason: string): void {
    this.#refused(request, reason);
  }

  #refused(
    { url, method, type }: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>,
    reason: string,
  ): null {
    this.requests.push({
      url,
      method,
      status: null,
      type,
      sha256: null,
      bytes: null,
      from: 'refused',
      reason,
    });
    return null;
  }

  #find({ method, url: given, headers, body }: PageRequestToAnswer): HeldAnswer | undefined {
    const url = withoutFragment(given);
    const recorded = this.#recorded.get(`${method} ${asBrowsersWrite(url)}`);
    // A page that asks more often than when it was captured gets the last answer again.
    const own = recorded && recorded.length > 1 ? recorded.shift() : recorded?.[0];
    if (own) return own;
    const behind = method === 'GET' ? this.#behind.get(url) : undefined;
    if (behind) return behind;
    const digest = body && body.length > 0 ? hash('sha256', body, 'hex') : null;
    return heldAnswers(this.#store.read, {
      url,
      method: method === 'HEAD' ? 'GET' : method,
      body: digest,
      isRange: Object.keys(headers).some((name) => name.toLowerCase() === 'range'),
      withLogin: this.#withLogin,
      at: this.#at,
    });
  }

  async #read(
    held: HeldAnswer,
    asked: string,
    budget: ByteBudget,
  ): Promise<(PageAnswer & { sha256: string | null }) | null> {
    const url = withoutFragment(asked);
    const isHop = (redirect: { url: string }) => asBrowsersWrite(redirect.url) === asBrowsersWrite(url);
    const given = isHop({ url: held.final_url }) ? (this.#hopsGiven.get(held) ?? 0) : 0;
    const hop = held.redirects.findIndex((redirect, index) => index >= given && isHop(redirect));
    const redirect = held.redirects[hop];
    if (redirect) {
      this.#hopsGiven.set(held, hop + 1);
      const next = held.redirects[hop + 1]?.url ?? held.final_url;
      this.#behind.set(withoutFragment(next), held);
      const location = redirect.headers?.find(([name]) => name.toLowerCase() === 'location')?.[1] ?? next;
      return {
        status: redirect.status,
        headers: [['location', location]],
        body: Buffer.alloc(0),
        sha256: null,
      };
    }
    const headers = held.headers;
    if (held.sha256 === null)
      return held.status === null
        ? null
        : { status: held.status, headers, body: Buffer.alloc(0), sha256: null };
    const body = await this.#bytesOf(held.sha256, contentEncodingOf(headers), budget);
    // A capture by another archive may have no status.
    return (
      body && {
        status: held.status ?? 200,
        headers: typed(headers, held.content_type),
        body,
        sha256: held.sha256,
      }
    );
  }

  /** Reads an object without its content coding; null if it is missing, damaged or too large. */
  async #bytesOf(sha256: string, encoding: string | null, budget: ByteBudget): Promise<Buffer | null> {
    const size = blobBytes(this.#store.read, sha256);
    if (size === undefined || size > MAX_OBJECT_BYTES || this.#store.blobs.isReleased(sha256)) return null;
    // Before it is read, because a page can ask for many at once.
    if (!budget.take(size)) return null;
    const bytes = await readObjectBytes(this.#store, sha256, MAX_OBJECT_BYTES);
    return bytes && decodeContent(bytes, encoding, budget);
  }
}

/** Returns why requests were refused, by method and address. */
function refusalsOf({ requests }: Pick<PageCapture, 'requests'>): Map<string, string> {
  const key = ({ method, url }: PageRequest) => `${method} ${asBrowsersWrite(withoutFragment(url))}`;
  const refusals = new Map<string, string>();
  for (const request of requests)
    if (request.from === 'refused') refusals.set(key(request), request.reason ?? 'not_held');
  for (const request of requests) if (request.from !== 'refused') refusals.delete(key(request));
  return refusals;
}

/**
 * Reads a stored object whole; null if it is missing, damaged, given up or larger than `maxBytes`. @throws Problem
 * `copy_unreachable`
 */
export async function readObjectBytes(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  sha256: string,
  maxBytes: number,
): Promise<Buffer | null> {
  const bytes = blobBytes(read, sha256);
  if (bytes === undefined || bytes > maxBytes || blobs.isReleased(sha256)) return null;
  const chunks: Buffer[] = [];
  // Hashed as it is read, so that a long object does not hold up the event loop.
  const digest = createHash('sha256');
  try {
    for await (const chunk of blobs.read(sha256)) {
      chunks.push(chunk);
      digest.update(chunk);
    }
  } catch (error) {
    if (isBlobDamageError(error)) return null;
    throw error;
  }
  return digest.digest('hex') === sha256 ? Buffer.concat(chunks) : null;
}

function withoutFragment(url: string): string {
  const end = url.indexOf('#');
  return end < 0 ? url : url.slice(0, end);
}

/** A capture without headers has at least its type. */
function typed(headers: HeldAnswer['headers'], type: string | null): HeldAnswer['headers'] {
  if (type === null || headers.some(([name]) => name.toLowerCase() === 'content-type')) return headers;
  return [...headers, ['content-type', type]];
}
