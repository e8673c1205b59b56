import { isHttpUrl } from '../../../shared/values/text.ts';
import { ByteBudget } from '../../browser/requestGate.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { Validators } from '../../store/sqlite/collection/retrievals.ts';
import {
  type Cookie,
  cookieHeader,
  domainOf,
  isDomainOfSite,
  readSetCookie,
  withCookie,
} from '../profiles/cookies.ts';
import { RetrievalFailure } from './connect.ts';
import { decodeContent } from './contentCoding.ts';
import type { HttpResponse } from './exchange.ts';
import { isErrorStatus, wholeRange } from './httpMessage.ts';
import {
  type Attempt,
  conditionalHeaders,
  type FetchServices,
  type ObjectRequest,
  Requester,
  redactOwnerHeaders,
} from './requester.ts';
import { MAX_ROBOTS_BYTES, type RobotsResponse } from './robots.ts';

const MAX_REDIRECTS = 10;
const BEGINNING_BYTES = 65_536;

/**
 * Fetches an object once. Follows redirects, obeys robots.txt and the host's rate limits, and streams the body to
 * `receive` byte for byte. Network and HTTP failures are not thrown; the result has them in `error`.
 *
 * @throws HostBackoffError if the host asked for a pause (Retry-After); the signal's reason; errors that `receive` throws
 * and that are no RetrievalFailure.
 */
export async function fetchObject<Received>(
  services: FetchServices,
  request: ObjectRequest<Received>,
): Promise<Attempt<Received>> {
  return new Fetch(services, request).run();
}

class Fetch<Received> {
  readonly #services: FetchServices;
  readonly #request: ObjectRequest<Received>;
  readonly #attempt: Attempt<Received>;
  readonly #requester: Requester;
  readonly #cookies: CookiesOnTheWay;

  constructor(services: FetchServices, request: ObjectRequest<Received>) {
    this.#services = services;
    this.#request = request;
    this.#attempt = {
      final_url: request.url,
      redirects: [],
      redirectCookies: [],
      status: null,
      error: null,
      content_type: null,
      headers: [],
      request: null,
      connection: null,
      certificates: new Map(),
      received: null,
      beginning: Buffer.alloc(0),
      unchanged: null,
      answered: false,
      isPrivate: undefined,
      retry_at: null,
      duration_ms: 0,
    };
    this.#requester = new Requester(services, request, this.#attempt);
    this.#cookies = new CookiesOnTheWay(services.clock);
  }

  async run(): Promise<Attempt<Received>> {
    try {
      await this.#follow();
    } catch (error) {
      if (!(error instanceof RetrievalFailure)) throw error;
      this.#attempt.error = error.reason;
      // robots.txt may have been requested by a concurrent attempt, which got the response.
      this.#attempt.answered ||= error.reason === 'robots_unreachable';
    }
    return this.#attempt;
  }

  async #follow(): Promise<void> {
    // Sources imported by older versions may have any URL.
    if (!isHttpUrl(this.#request.url)) throw new RetrievalFailure('invalid_url');
    const seen = new Set<string>();
    for (let url: URL | undefined = new URL(this.#request.url); url; ) {
      // Some addresses lead to themselves until their cookie comes back.
      const visit = `${url.href} ${this.#cookies.headerFor(url) ?? ''}`;
      if (seen.has(visit)) throw new RetrievalFailure('redirect_loop');
      if (seen.size > MAX_REDIRECTS) throw new RetrievalFailure('too_many_redirects');
      seen.add(visit);
      Object.assign(this.#attempt, {
        final_url: url.href,
        request: null,
        connection: null,
        status: null,
        headers: [],
        content_type: null,
      });
      await this.#checkRobots(url);
      url = await this.#get(url);
    }
  }

  async #checkRobots(url: URL): Promise<void> {
    const { ignoreRobots, userAgent } = this.#request;
    if (ignoreRobots) return;
    const agent = /^[^/\s]+/.exec(userAgent)?.[0] ?? '';
    const { robots } = this.#services;
    const allowed = await robots.isAllowed(url, agent, (address) => fetchRobotsTxt(this.#requester, address));
    if (!allowed) throw new RetrievalFailure('robots_disallowed');
  }

  /** Requests one URL. Returns the target if the response is a redirect. */
  async #get(url: URL): Promise<URL | undefined> {
    const attempt = this.#attempt;
    let validators: Validators | undefined;
    let given: Record<string, string> = {};
    const headers = async () => {
      this.#request.login?.refresh();
      given = this.#givenHeaders(url);
      const known = await this.#request.validators();
      if (known?.url === url.href) validators = known;
      return {
        ...this.#request.openHeaders,
        ...given,
        ...(validators === undefined ? {} : conditionalHeaders(validators)),
      };
    };
    return this.#requester.get(url, headers, async (response) => {
      attempt.status = response.status;
      this.#request.login?.receive(url, response.headers);
      this.#cookies.receive(url, response.headers);
      attempt.headers = response.headers;
      attempt.request = {
        method: 'GET',
        headers: redactOwnerHeaders(given, response.sent),
      };
      attempt.content_type = response.header('content-type') ?? null;
      const connection = this.#connectionOf(response);
      if (isRedirect(response)) {
        const to = redirectTarget(url, response);
        const kept = redirectHeaders(response.headers);
        attempt.redirects.push({
          url: url.href,
          status: response.status,
          headers: kept,
          ...(connection ? { connection } : {}),
        });
        attempt.redirectCookies.push(setCookiesOf(response.headers));
        return to;
      }
      attempt.connection = connection;
      if (response.status === 304) {
        if (validators === undefined) throw new RetrievalFailure('invalid_response');
        attempt.unchanged = validators;
        return undefined;
      }
      await this.#receive(response);
      return undefined;
    });
  }

  #connectionOf({ connection }: HttpResponse): Attempt<Received>['connection'] {
    for (const [sha256, bytes] of connection.certificates) this.#attempt.certificates.set(sha256, bytes);
    return connection.record;
  }

  /** The owner's headers for the origin of the source, and the cookies of the login for its site, or of this check. */
  #givenHeaders(url: URL): Record<string, string> {
    const { url: source, headers, login } = this.#request;
    const own = url.origin === new URL(source).origin ? headers : {};
    const ofLogin = login?.headerFor(url);
    if (ofLogin !== undefined) return { ...withoutCookie(own), cookie: ofLogin };
    const onTheWay = this.#cookies.headerFor(url);
    if (onTheWay === undefined) return own;
    const ofOwner = Object.entries(own).find(([name]) => name.toLowerCase() === 'cookie')?.[1];
    return { ...withoutCookie(own), cookie: ofOwner ? `${ofOwner}; ${onTheWay}` : onTheWay };
  }

  /** Receives the body of the final response. The body of an error response is archived too, but is no observation. */
  async #receive(response: HttpResponse): Promise<void> {
    const { maxBytes, receive } = this.#request;
    const isPart = response.status === 206 && wholeRange(response.header('content-range')) === undefined;
    const ok = response.status >= 200 && response.status < 300 && !isPart;
    try {
      if (Number(response.header('content-length') ?? 0) > maxBytes) throw new TooManyBytesError(maxBytes);
      this.#attempt.received = await receive(this.#keepBeginning(response.body), maxBytes);
    } catch (error) {
      const failure = error instanceof TooManyBytesError ? new RetrievalFailure('object_too_large') : error;
      if (ok || !(failure instanceof RetrievalFailure)) throw failure;
    }
    if (isErrorStatus(response.status)) throw new RetrievalFailure('http_error');
    if (!ok) throw new RetrievalFailure('invalid_response');
  }

  async *#keepBeginning(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      const { beginning } = this.#attempt;
      const room = BEGINNING_BYTES - beginning.length;
      if (room > 0) this.#attempt.beginning = Buffer.concat([beginning, chunk.subarray(0, room)]);
      yield chunk;
    }
  }
}

/** The cookies of a login take the place of those that the owner set as a header. */
export function withoutCookie(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'cookie'));
}

const MAX_COOKIES_ON_THE_WAY = 50;

/** The cookies that hosts set within one check. They are sent back to them within it, and forgotten. */
class CookiesOnTheWay {
  readonly #clock: FetchServices['clock'];
  #cookies: Cookie[] = [];

  constructor(clock: FetchServices['clock']) {
    this.#clock = clock;
  }

  headerFor(url: URL): string | undefined {
    return cookieHeader(this.#cookies, url, this.#clock.now());
  }

  receive(url: URL, headers: readonly (readonly [string, string])[]): void {
    const now = this.#clock.now();
    for (const header of setCookiesOf(headers)) {
      const cookie = readSetCookie(header, url, now);
      // One for all sites below a public suffix is not of this site.
      if (!cookie || !isDomainOfSite(cookie.domain, domainOf(url.hostname))) continue;
      this.#cookies = withCookie(this.#cookies, cookie, now, MAX_COOKIES_ON_THE_WAY);
    }
  }
}

/** Returns the values of the headers `Set-Cookie` of an answer. */
export function setCookiesOf(headers: readonly (readonly [string, string])[]): string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'set-cookie')
    .slice(0, MAX_COOKIES_ON_THE_WAY)
    .map(([, value]) => value);
}

/** RFC 9309, section 2.3.1.2: crawlers should follow at least five. */
const MAX_ROBOTS_REDIRECTS = 5;

/**
 * Requests a robots.txt and follows its redirects. Too many redirects count as 404.
 *
 * @throws RetrievalFailure `robots_unreachable` if the body cannot be read; what `Requester.get` throws.
 */
async function fetchRobotsTxt(requester: Requester, robots: URL): Promise<RobotsResponse> {
  let url = robots;
  for (let hops = 0; hops <= MAX_ROBOTS_REDIRECTS; hops += 1) {
    const { status, text, next } = await requester.get(
      url,
      async () => ({}),
      async (response) => ({
        status: response.status,
        next: isRedirect(response) ? validTarget(url, response) : undefined,
        text: response.status < 300 ? await readText(response) : '',
      }),
    );
    if (next === undefined) return { status, text };
    url = next;
  }
  return { status: 404, text: '' };
}

/** Some servers compress although nobody asked for it. What they send then may expand to this size. */
const MAX_DECODED_ROBOTS_BYTES = 16 * MAX_ROBOTS_BYTES;

/** @throws RetrievalFailure `robots_unreachable` if the body cannot be read: what it disallows is not known then */
async function readText(response: HttpResponse): Promise<string> {
  try {
    const sent = await readBeginning(response.body, MAX_ROBOTS_BYTES);
    const budget = new ByteBudget(MAX_DECODED_ROBOTS_BYTES);
    const decoded = await decodeContent(sent, response.header('content-encoding') ?? null, budget);
    if (decoded === null) throw new RetrievalFailure('robots_unreachable');
    return withoutMark(decoded.subarray(0, MAX_ROBOTS_BYTES));
  } catch (error) {
    throw error instanceof RetrievalFailure ? new RetrievalFailure('robots_unreachable', error) : error;
  }
}

/** Decodes a text in UTF-8, or in UTF-16 if a byte order mark says so. */
function withoutMark(bytes: Buffer): string {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // The decoder leaves out the mark.
  return new TextDecoder(!isUtf16 ? 'utf-8' : first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes);
}

/** Returns undefined for a redirect without a valid target. It is then treated like any other 3xx response. */
function validTarget(from: URL, response: Parameters<typeof redirectTarget>[1]): URL | undefined {
  try {
    return redirectTarget(from, response);
  } catch (error) {
    if (error instanceof RetrievalFailure) return undefined;
    throw error;
  }
}

async function readBeginning(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    kept.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(kept);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that may hold secrets of a session. */
const SESSION_HEADERS =
  /^(set-cookie2?|cookie|authorization|proxy-authorization|(proxy-)?authentication-info)$/i;

/** Returns headers without those that may hold secrets of a session. */
export function withoutSessionHeaders(headers: readonly [string, string][]): [string, string][] {
  return headers.filter(([name]) => !SESSION_HEADERS.test(name));
}

/** Longer headers are not kept, except `Location`: each check may follow ten redirects. */
const MAX_HEADER_CHARACTERS = 16_384;

/** Returns the headers of a redirect that are kept. */
export function redirectHeaders(headers: readonly [string, string][]): [string, string][] {
  const kept = withoutSessionHeaders(headers).map(([name, value]): [string, string] => [
    name,
    value.replace(USER_INFORMATION, '$1'),
  ]);
  const length = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length <= MAX_HEADER_CHARACTERS) return kept;
  return kept.filter(([name]) => name.toLowerCase() === 'location').slice(0, 1);
}

/** A user name and password in a URL. */
const USER_INFORMATION = /(\/\/)[^/?#@\s]{1,1000}@/g;

export function isRedirect({ status }: Pick<HttpResponse, 'status'>): boolean {
  return REDIRECTS.has(status);
}

/** Returns `Location` as text: servers send UTF-8 although a header has none, and browsers read it. */
export function decodeLocation(value: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch (error) {
    if (error instanceof TypeError) return value;
    throw error;
  }
}

/**
 * Returns the target of a redirect without fragment, user name and password, which are never sent.
 *
 * @throws RetrievalFailure `invalid_response` if Location is missing or invalid, `redirect_refused` if it is not http(s).
 */
function redirectTarget(from: URL, response: Pick<HttpResponse, 'header'>): URL {
  const location = response.header('location');
  const to = location === undefined ? null : URL.parse(decodeLocation(location), from.href);
  if (to === null) throw new RetrievalFailure('invalid_response');
  if (to.protocol !== 'http:' && to.protocol !== 'https:') throw new RetrievalFailure('redirect_refused');
  to.hash = '';
  to.username = '';
  to.password = '';
  return to;
}
