import type { CutReason } from '../../shared/collection/page.ts';
import { after } from '../runtime/background.ts';
import { STATUS_CODES } from '../runtime/nodeHttp.ts';
import {
  type BrowserConnection,
  BrowserGoneError,
  type Params,
  ProtocolError,
  type ProtocolEvent,
  TOO_LONG,
} from './protocol.ts';

/** Where the document of a frame is from. */
interface FrameOrigin {
  parent: string | null;
  /** Null if it is hidden, undefined before the first document. */
  origin: string | null | undefined;
  /** Where its document is from, also if its origin is hidden. */
  site: string | null;
}

/** A request of a page. */
export interface PageRequestToAnswer {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Buffer | null;
  /**
   * The origin of the document, style or worker that asks; null if it is not known. A page may hide its origin from its
   * requests (`no-referrer`). Then it is that of its frame, but null for a form and for what leads a frame elsewhere, because
   * any frame may do that to another.
   */
  initiator: string | null;
  /** Where the document that asks is from, if a sandbox hides its origin; else null. */
  hiddenOrigin: string | null;
  /** As the browser names it, in lower case. */
  type: string;
  /** Whether the answer becomes the page itself. */
  isMainDocument: boolean;
}

/** What answers a request. Redirects are answered as such; the browser then asks for their target. */
export interface PageAnswer {
  status: number;
  headers: readonly (readonly [string, string])[];
  body: Buffer;
}

/**
 * Who answers the requests of a page, and keeps a list of them: the collector, or the archive.
 */
export interface PageGate {
  /**
   * Returns the answer, or null if there is none. Does not throw for what the web does.
   *
   * @param budget what all answers of the page may still have; a body that does not fit is not answered with
   */
  answer(request: PageRequestToAnswer, signal: AbortSignal, budget: ByteBudget): Promise<PageAnswer | null>;
  /** Notes a request that is refused without being asked. */
  refuse(request: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>, reason: string): void;
}

/** The bytes that the answers of a page may have together, also those that arrive at the same time. */
export class ByteBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** Whether the limit was reached. */
  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Takes all that is left, for a body that does not fit. */
  exhaust(): void {
    this.#left = -1;
  }

  /** Takes bytes. Returns false if there are not so many; then nothing is left. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}

/** A longer address is not asked for, and shortened in the list of requests. */
const MAX_ADDRESS_CHARACTERS = 8_192;
const MAX_METHOD_CHARACTERS = 20;

/** A response whose end the browser does not report within this time counts as received. */
const MAX_DELIVERY_MS = 3_000;
/** Answers are held back for at most this long. */
const MAX_HELD_MS = 1_000;
/** A page may go to other documents, by scripts, forms or refreshes, this often. */
const MAX_NAVIGATIONS = 10;
/** Nothing else is ever asked: these have no address on the network. */
const LOCAL = /^(data|blob|about|javascript):/i;

/**
 * Stands between a page and the network: the browser stops at each request, and goes on with the answer of the gate. It
 * has no network itself, so a request that does not come here reaches nothing.
 */
export class RequestGate {
  readonly #connection: BrowserConnection;
  readonly #gate: PageGate;
  readonly #maxRequests: number;
  readonly #budget: ByteBudget;
  readonly #signal: AbortSignal;
  /** Requests whose response the page has not received yet, by session and network id. */
  readonly #open = new Map<string, NodeJS.Timeout | null>();
  #waiting: (() => void)[] = [];
  #refused = 0;
  #navigations = 0;
  #isClosed = false;
  /** While the clock of the page advances. */
  #held: PromiseWithResolvers<void> | undefined;
  /** The id of the page's main frame. */
  mainFrame = '';
  /** The frames by id. The origin is that of the document; undefined before the first one, null if it has none. */
  readonly #frames = new Map<string, FrameOrigin>();
  /** The number of requests that the page began. */
  begun = 0;
  /** The number of those that the gate was asked. */
  #asked = 0;
  /** The limit that was reached first. */
  cutReason: CutReason | null = null;
  /** Whether scripts and timers run in the page: not under the policy `sandbox`. */
  mayRunScripts = true;

  constructor(
    connection: BrowserConnection,
    { gate, maxRequests, maxBytes }: { gate: PageGate; maxRequests: number; maxBytes: number },
    signal: AbortSignal,
  ) {
    this.#connection = connection;
    this.#gate = gate;
    this.#maxRequests = maxRequests;
    this.#budget = new ByteBudget(maxBytes);
    this.#signal = signal;
  }

  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  /** Resolves when the page has received all that it asked for. */
  async idle(): Promise<void> {
    while (!this.isIdle) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Gives the page no answer while some work advances its clock: where in the work an answer arrives would depend on how
   * long it took. A script may wait for an answer in the middle (a synchronous request), so this ends after a while.
   */
  async holding(work: Promise<unknown>): Promise<void> {
    this.#held = Promise.withResolvers();
    const end = () => this.#held?.resolve();
    const timer = after(MAX_HELD_MS, end);
    try {
      await work;
    } finally {
      clearTimeout(timer);
      end();
      this.#held = undefined;
    }
  }

  /** From now on every request is refused, and none is noted. */
  close(): void {
    this.#isClosed = true;
  }

  onEvent({ method, params, sessionId }: ProtocolEvent): unknown {
    switch (method) {
      // The page itself reports a request before it reports that its task has ended; the browser stops it a little later.
      case 'Network.requestWillBeSent':
        return this.#onSent(String(params.requestId), params.request as { url: string });
      case 'Fetch.requestPaused':
        return this.#onPaused(params as unknown as PausedRequest, sessionId);
      case TOO_LONG:
        return this.#onTooLong(params, sessionId);
      case 'Network.loadingFinished':
      case 'Network.loadingFailed':
        return this.#end(String(params.requestId));
      case 'Network.webSocketCreated':
        if (!this.#isClosed)
          this.#refuse({ url: String(params.url), method: 'GET', type: 'websocket' }, 'scheme');
        return undefined;
      default:
        return undefined;
    }
  }

  #onSent(key: string, { url }: { url: string }): void {
    if (this.#isClosed || this.#open.has(key) || !/^https?:/i.test(url)) return;
    this.#begin(key);
    // What the browser has in its memory is not stopped.
    this.#endLater(key);
  }

  async #onPaused(paused: PausedRequest, session: string): Promise<void> {
    const key = paused.networkId ?? paused.requestId;
    this.#begin(key);
    try {
      const answer = await this.#answer(paused);
      await this.#held?.promise;
      if (answer === null) {
        // A navigation that is aborted leaves the page as it is.
        const errorReason = this.#isMainDocument(paused) ? 'Aborted' : 'BlockedByClient';
        await this.#command('Fetch.failRequest', { requestId: paused.requestId, errorReason }, session);
      } else await this.#fulfill(paused, answer, session);
      if (this.#open.has(key)) this.#endLater(key);
    } catch (error) {
      this.#end(key);
      if (error instanceof BrowserGoneError || this.#signal.aborted) return;
      throw error;
    }
  }

  async #answer(paused: PausedRequest): Promise<PageAnswer | null> {
    const { request, resourceType } = paused;
    const type = resourceType.toLowerCase();
    const url = request.url + (request.urlFragment ?? '');
    if (this.#isClosed || isIcon(type, request.headers)) return null;
    if (isPreflight(request)) return preflightAnswer(request.headers);
    const isMainDocument = this.#isMainDocument(paused);
    const refuse = (reason: string) =>
      this.#refuse({ url: request.url, method: request.method, type }, reason);
    if (!/^https?:/i.test(url)) return LOCAL.test(url) ? null : refuse('scheme');
    if (isMainDocument) {
      this.#navigations += 1;
      if (this.#navigations > MAX_NAVIGATIONS) {
        this.cutReason ??= 'requests';
        return refuse('navigation');
      }
    }
    this.#asked += 1;
    if (this.#asked > this.#maxRequests) {
      this.cutReason ??= 'requests';
      return refuse('limit');
    }
    if (this.#budget.isSpent) {
      this.cutReason ??= 'bytes';
      return refuse('limit');
    }
    if (url.length > MAX_ADDRESS_CHARACTERS) return refuse('limit');
    const answer = await this.#gate.answer(
      {
        url: request.url,
        method: request.method,
        headers: request.headers,
        body: bodyOf(request),
        initiator: this.#initiatorOf(paused),
        hiddenOrigin: this.#hiddenOriginOf(paused),
        type,
        isMainDocument,
      },
      this.#signal,
      this.#budget,
    );
    if (this.#budget.isSpent) this.cutReason ??= 'bytes';
    return answer;
  }

  onFrameEvent({ method, params }: Pick<ProtocolEvent, 'method' | 'params'>): void {
    switch (method) {
      case 'Page.frameAttached':
        this.#frames.set(String(params.frameId), {
          parent: String(params.parentFrameId),
          origin: undefined,
          site: null,
        });
        return;
      case 'Page.frameNavigated': {
        const { id, securityOrigin, url } = params.frame as {
          id: string;
          securityOrigin?: string;
          url?: string;
        };
        const origin = originOf(securityOrigin);
        const frame = this.#frames.get(id);
        this.#frames.set(id, { parent: null, ...frame, origin, site: this.#siteOf(url, origin, frame) });
        return;
      }
      case 'Page.frameDetached':
        // A frame that gets a process of its own stays.
        if (params.reason !== 'swap') this.#frames.delete(String(params.frameId));
    }
  }

  /**
   * Returns where the document of a frame is from, although a sandbox hides its origin. What a page writes into a frame
   * itself (`data:`, `srcdoc`) is from the page, unless the frame had a document before, which may have led it there.
   */
  #siteOf(url: string | undefined, origin: string | null, frame: FrameOrigin | undefined): string | null {
    const own = origin ?? originOf(url);
    if (own !== null) return own;
    if (frame?.origin !== undefined) return frame.site;
    return (frame?.parent && this.#frames.get(frame.parent)?.site) ?? null;
  }

  /** A request that was redirected may hide its origin because another site led it here. */
  #hiddenOriginOf({ frameId, resourceType, redirectedRequestId }: PausedRequest): string | null {
    const frame = this.#frames.get(frameId);
    if (resourceType !== 'Document') return redirectedRequestId === undefined ? (frame?.site ?? null) : null;
    // The first document of a frame is asked for by the one around it.
    const around = frame?.parent && frame.origin === undefined ? this.#frames.get(frame.parent) : undefined;
    return around?.origin === null ? around.site : null;
  }

  #initiatorOf({ frameId, resourceType, request: { headers } }: PausedRequest): string | null {
    const origin = headerOf(headers, 'origin');
    if (origin !== '') return origin === 'null' ? null : origin;
    const referrer = URL.parse(headerOf(headers, 'referer'));
    if (referrer) return referrer.origin;
    const frame = this.#frames.get(frameId);
    if (resourceType !== 'Document') return frame?.origin ?? null;
    // The first document of a frame is asked for by the one around it. Others may lead it elsewhere later.
    if (!frame?.parent || frame.origin !== undefined) return null;
    return this.#frames.get(frame.parent)?.origin ?? null;
  }

  /** Refuses a request that is longer than a message of the browser may be. */
  async #onTooLong({ requestId, url, method, type }: Params, session: string): Promise<void> {
    this.cutReason ??= 'bytes';
    if (!this.#isClosed)
      this.#refuse({ url: String(url), method: String(method), type: String(type) }, 'limit');
    await this.#command('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }, session);
  }

  /** Notes a request that is not asked. A page can ask for any number of addresses of any length, so the list is bounded. */
  #refuse({ url, method, type }: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>, reason: string): null {
    this.#refused += 1;
    if (this.#refused <= this.#maxRequests)
      this.#gate.refuse(
        {
          url: url.slice(0, MAX_ADDRESS_CHARACTERS),
          method: method.slice(0, MAX_METHOD_CHARACTERS),
          type,
        },
        reason,
      );
    else this.cutReason ??= 'requests';
    return null;
  }

  #isMainDocument({ resourceType, frameId }: PausedRequest): boolean {
    return resourceType === 'Document' && frameId === this.mainFrame;
  }

  async #fulfill(
    paused: PausedRequest,
    { status, headers, body }: PageAnswer,
    session: string,
  ): Promise<void> {
    const { requestId } = paused;
    const isDocument = this.#isMainDocument(paused);
    const given = headers.filter(
      ([name, value]) =>
        HEADER_NAME.test(name) &&
        !HOP_BY_HOP.test(name) &&
        !/[\0\r\n]/.test(value) &&
        // A document that is to be saved as a file would leave the page empty.
        !(isDocument && /^content-disposition$/i.test(name)),
    );
    if (isDocument) this.mayRunScripts = !forbidsScripts(given);
    const params = {
      requestId,
      responseCode: status,
      // The browser refuses a status that it does not know, unless it has a phrase.
      responsePhrase: STATUS_CODES[status] ?? 'Unknown',
      body: body.toString('base64'),
    };
    try {
      // Binary, because a text would be encoded as UTF-8, and the values are bytes.
      const binaryResponseHeaders = asBinary(given);
      await this.#connection.send('Fetch.fulfillRequest', { ...params, binaryResponseHeaders }, session);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      // The browser refuses headers that are not valid HTTP; or the page has gone on, and no longer waits.
      const type = given.filter(([name]) => /^content-type$/i.test(name));
      await this.#command(
        'Fetch.fulfillRequest',
        { ...params, binaryResponseHeaders: asBinary(type) },
        session,
      );
    }
  }

  /** Sends a command about a request that the page may have given up. */
  async #command(method: string, params: Params, session: string): Promise<void> {
    try {
      await this.#connection.send(method, params, session);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }

  #begin(key: string): void {
    if (!this.#open.has(key)) this.begun += 1;
    clearTimeout(this.#open.get(key) ?? undefined);
    this.#open.set(key, null);
  }

  /** The end of a response that nobody reads is not reported. */
  #endLater(key: string): void {
    this.#open.set(
      key,
      after(MAX_DELIVERY_MS, () => this.#end(key)),
    );
  }

  #end(key: string): void {
    if (!this.#open.has(key)) return;
    clearTimeout(this.#open.get(key) ?? undefined);
    this.#open.delete(key);
    if (this.isIdle) for (const resume of this.#waiting.splice(0)) resume();
  }
}

/** The parameters of `Fetch.requestPaused`. */
interface PausedRequest {
  requestId: string;
  networkId?: string;
  /** The request that a redirect led here from. */
  redirectedRequestId?: string;
  frameId: string;
  resourceType: string;
  request: {
    url: string;
    urlFragment?: string;
    method: string;
    headers: Record<string, string>;
    hasPostData?: boolean;
    postData?: string;
    postDataEntries?: { bytes?: string }[];
  };
}

function bodyOf({ postDataEntries, postData }: PausedRequest['request']): Buffer | null {
  if (postDataEntries)
    return Buffer.concat(postDataEntries.map(({ bytes = '' }) => Buffer.from(bytes, 'base64')));
  return postData === undefined ? null : Buffer.from(postData, 'utf8');
}

/** Whether a document forbids its own scripts (CSP Level 3, section 6.3.2). */
function forbidsScripts(headers: readonly (readonly [string, string])[]): boolean {
  return headers
    .filter(([name]) => /^content-security-policy$/i.test(name))
    .flatMap(([, value]) => value.split(/[;,]/))
    .map((directive) => directive.trim().toLowerCase().split(/\s+/))
    .some(([name, ...tokens]) => name === 'sandbox' && !tokens.includes('allow-scripts'));
}

/** The names that a browser accepts (RFC 9110, section 5.1); it skips others too when it reads them itself. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Returns headers as `Fetch.fulfillRequest` takes them: pairs with a NUL between them, in base64. */
function asBinary(headers: readonly (readonly [string, string])[]): string {
  const text = headers.map(([name, value]) => `${name}: ${value}`).join('\0');
  return Buffer.from(text, 'latin1').toString('base64');
}

/** Headers about the connection that brought a response. The body is complete and decoded. */
const HOP_BY_HOP =
  /^(connection|keep-alive|transfer-encoding|content-encoding|content-length|trailer|upgrade|te|proxy-.*|alt-svc)$/i;

/** The icon of the tab, which the browser asks for by itself at some time or other, is no part of the page. */
function isIcon(type: string, headers: Record<string, string>): boolean {
  return type === 'other' && headerOf(headers, 'accept').startsWith('image/');
}

/** Scripts can ask for the options of an address, too, but cannot set this header. */
function isPreflight({ method, headers }: PausedRequest['request']): boolean {
  return method === 'OPTIONS' && headerOf(headers, 'access-control-request-method') !== '';
}

/** Allows what a script wants to ask of another site. Whether it may read the answer is decided by the answer itself. */
function preflightAnswer(headers: Record<string, string>): PageAnswer {
  return {
    status: 204,
    headers: [
      ['access-control-allow-origin', headerOf(headers, 'origin') || '*'],
      ['access-control-allow-methods', headerOf(headers, 'access-control-request-method')],
      ['access-control-allow-headers', headerOf(headers, 'access-control-request-headers')],
      ['access-control-allow-credentials', 'true'],
    ],
    body: Buffer.alloc(0),
  };
}

function originOf(url: string | undefined): string | null {
  const origin = URL.parse(url ?? '')?.origin ?? 'null';
  return origin === 'null' ? null : origin;
}

function headerOf(headers: Record<string, string>, name: string): string {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
}
