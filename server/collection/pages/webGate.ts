import { createHash, hash } from 'node:crypto';
import { SELF } from '../../../shared/collection/observers.ts';
import type { PageRequest } from '../../../shared/collection/page.ts';
import {
  contentEncodingOf,
  type Redirect,
  type RetrievalError,
  type SentRequest,
} from '../../../shared/collection/retrieval.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import type { ByteBudget, PageAnswer, PageGate, PageRequestToAnswer } from '../../browser/requestGate.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { RetrievalFailure } from '../fetch/connect.ts';
import { decodeContent } from '../fetch/contentCoding.ts';
import type { HttpResponse } from '../fetch/exchange.ts';
import { isRedirect, setCookiesOf, withoutCookie } from '../fetch/fetchObject.ts';
import { isErrorStatus, wholeRange } from '../fetch/httpMessage.ts';
import { type AttemptStats, type FetchServices, Requester } from '../fetch/requester.ts';
import { domainOf } from '../profiles/cookies.ts';
import type { ProfileSession } from '../profiles/profiles.ts';
import type { Secrets } from '../record/secrets.ts';
import { asBrowsersWrite } from './readPages.ts';

/** The document that the check of the source has just stored, and the way to it. */
export interface CheckedDocument {
  url: string;
  final_url: string;
  redirects: readonly Redirect[];
  /** The cookies that each redirect set. */
  redirectCookies: readonly (readonly string[])[];
  status: number;
  headers: readonly (readonly [string, string])[];
  sha256: string;
  /** Whether `final_url` is at a private address: then its parts may be too. */
  isPrivate: boolean;
}

/** A part of a page as it was fetched. */
export interface FetchedPart {
  request: PageRequest;
  /** Null for the document, which is not fetched twice, and for what was refused. */
  retrieval: Omit<NewRetrieval, 'source_key' | 'part_of' | 'observed_at'> | null;
  body: Buffer | null;
  requestBody: Buffer | null;
  certificates: ReadonlyMap<string, Buffer>;
}

interface WebGateOptions {
  services: FetchServices & { instant: () => string };
  document: CheckedDocument & { body: Buffer };
  /** The owner's headers, which are sent to the source's own origin. */
  ownerHeaders: Record<string, string>;
  /** The login with which the page is drawn. The browser has its cookies and sends them as any browser does. */
  login: ProfileSession | undefined;
  /** The secrets of the requests. The caller removes them from the record. */
  secrets: Secrets | undefined;
  userAgent: string;
  timeoutMs: number;
  maxBytes: number;
}

/** Headers that the node sets itself, or that belong to a connection. The site learns who asks, as in a check. */
const NOT_FORWARDED =
  /^(host|user-agent|sec-ch-.*|connection|content-length|accept-encoding|transfer-encoding|te|upgrade|keep-alive|if-.*|proxy-.*)$/i;
/** Scripts can set headers of any length, and sent headers are kept. */
const MAX_HEADER_CHARACTERS = 16_384;
/** Headers whose values may be secrets of a session, and are not published. */
const SECRET = /^(cookie|authorization|proxy-authorization)$/i;

/**
 * Answers the requests of a page from the web, with the guards of every other request of the collector: GET and HEAD
 * everywhere, POST at the page's own site.
 */
export class WebGate implements PageGate {
  readonly parts: FetchedPart[] = [];
  /** Whether the document cannot be decoded, or does not fit into the budget of the page. */
  isDocumentLost = false;
  /** The origin of the document that the browser has got; null until then: the node asks for the first one. */
  #documentOrigin: string | null = null;
  readonly #options: WebGateOptions;
  /** The addresses of the way to the document that are still to be asked for. */
  readonly #known = new Map<string, PageAnswer[]>();
  /** The origins whose documents are the owner's page: only what they ask for gets the owner's headers. */
  readonly #own: ReadonlySet<string>;
  /** The origins at private addresses: only what they ask for may be at one. */
  readonly #private = new Set<string>();

  constructor(options: WebGateOptions) {
    this.#options = options;
    const { document } = options;
    const { status, headers, body, url, final_url, redirects } = document;
    for (const hop of redirects) this.#know(hop.url, redirectAnswer(hop, document));
    this.#know(final_url, { status, headers, body });
    this.#own = new Set([new URL(url).origin, new URL(final_url).origin]);
    if (document.isPrivate) this.#private.add(new URL(final_url).origin);
  }

  /** An address may lead to itself, and then each visit has its own answer. */
  #know(url: string, answer: PageAnswer): void {
    const known = asBrowsersWrite(url);
    this.#known.set(known, [...(this.#known.get(known) ?? []), answer]);
  }

  async answer(
    request: PageRequestToAnswer,
    signal: AbortSignal,
    budget: ByteBudget,
  ): Promise<PageAnswer | null> {
    const known = request.isMainDocument && request.method === 'GET' ? this.#takeKnown(request) : undefined;
    if (known) {
      const decoded = await this.#decoded(known, known.body, budget);
      this.isDocumentLost = decoded === null;
      if (!isRedirect(known)) this.#documentOrigin = new URL(request.url).origin;
      return decoded;
    }
    if (!isHttpUrl(request.url)) return this.#refused(request, 'scheme');
    if (!this.#isAllowed(request)) return this.#refused(request, 'method');
    if (this.#tellsOthers(request)) return this.#refused(request, 'login');
    return this.#fetch(request, signal, budget);
  }

  refuse(request: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>, reason: string): void {
    this.#refused(request, reason);
  }

  /** Answers with what the check of the source was answered, once. */
  #takeKnown({ url, method, type }: PageRequestToAnswer): PageAnswer | undefined {
    const { document } = this.#options;
    const known = this.#known.get(asBrowsersWrite(url));
    const answer = known?.shift();
    if (!answer) return undefined;
    const isDocument = known?.length === 0 && asBrowsersWrite(url) === asBrowsersWrite(document.final_url);
    this.#note({
      url,
      method,
      status: answer.status,
      type,
      sha256: isDocument ? document.sha256 : null,
      bytes: isDocument ? document.body.length : null,
      from: 'web',
      reason: null,
    });
    return answer;
  }

  /** POST is the page's own: a frame of another site does not act at the page's site with its login. */
  #isAllowed({ method, url, initiator }: PageRequestToAnswer): boolean {
    if (method === 'GET' || method === 'HEAD') return true;
    const site = siteOf(this.#options.document.final_url);
    return method === 'POST' && siteOf(url) === site && initiator !== null && siteOf(initiator) === site;
  }

  /** Whether a script of the page sends what belongs to the login to another site. */
  #tellsOthers({ url, headers, body }: PageRequestToAnswer): boolean {
    const { login } = this.#options;
    if (!login || login.isOfSite(new URL(url))) return false;
    return [url, ...Object.values(headers), body?.toString('latin1') ?? ''].some((text) =>
      login.secrets.isIn(text),
    );
  }

  #refused(
    { url, method, type }: Pick<PageRequestToAnswer, 'url' | 'method' | 'type'>,
    reason: string,
  ): null {
    this.#note({ url, method, status: null, type, sha256: null, bytes: null, from: 'refused', reason });
    return null;
  }

  #note(request: PageRequest): void {
    this.parts.push({ request, retrieval: null, body: null, requestBody: null, certificates: new Map() });
  }

  async #fetch(
    request: PageRequestToAnswer,
    signal: AbortSignal,
    budget: ByteBudget,
  ): Promise<PageAnswer | null> {
    const url = new URL(request.url);
    url.hash = '';
    const { document, ownerHeaders, login, secrets } = this.#options;
    const { body: sent, isMainDocument } = request;
    if (sent && !budget.take(sent.length)) return this.#refused(request, 'limit');
    const isFirst = isMainDocument && this.#documentOrigin === null;
    const initiator = isFirst ? new URL(document.final_url).origin : request.initiator;
    const given = login?.headerFor(url) === undefined ? ownerHeaders : withoutCookie(ownerHeaders);
    const isOwn = initiator !== null && this.#own.has(initiator);
    const own = isOwn && url.origin === new URL(document.url).origin ? given : {};
    const received = await this.#send(url, { ...request, initiator }, own, { signal, budget });
    // No connection to a private address was opened.
    if (received.error === 'redirect_refused') return this.#refused(request, 'private_address');
    const ownHeaders = new Set(Object.keys(own).map((name) => name.toLowerCase()));
    const { response, stats } = received;
    if (ownHeaders.size > 0 && response) secrets?.addCookies(setCookiesOf(response.headers));
    const part = partOf(url, request, received, { ownHeaders, secrets });
    this.parts.push(part);
    if (isMainDocument && response && !isRedirect(response)) this.#documentOrigin = url.origin;
    if (stats.isPrivate) this.#private.add(url.origin);
    return response && part.body && this.#decoded(response, part.body, budget);
  }

  /** Some servers send content codings that were not asked for. They are kept as sent, and the page gets what they hold. */
  async #decoded(
    { status, headers }: Pick<PageAnswer, 'status' | 'headers'>,
    sent: Buffer,
    budget: ByteBudget,
  ): Promise<PageAnswer | null> {
    const body = await decodeContent(sent, contentEncodingOf(headers), budget);
    return body && { status, headers, body };
  }

  /** Sends a request of the page. What the network does is in the result, and not thrown. */
  async #send(
    url: URL,
    { method, headers, body, initiator, hiddenOrigin, isMainDocument }: PageRequestToAnswer,
    own: Record<string, string>,
    { signal, budget }: { signal: AbortSignal; budget: ByteBudget },
  ): Promise<Received> {
    const { services, login, userAgent, timeoutMs, maxBytes } = this.#options;
    const stats: AttemptStats = { answered: false, isPrivate: undefined, retry_at: null, duration_ms: 0 };
    // A page that hides its origin may lead to another one at a private address, but without the owner's headers.
    const asks = initiator ?? hiddenOrigin ?? (isMainDocument ? this.#documentOrigin : null);
    const allowPrivateAddress = asks !== null && this.#private.has(asks) ? undefined : false;
    const requester = new Requester(services, { userAgent, timeoutMs, signal, allowPrivateAddress }, stats);
    const received: Received = { response: null, body: null, error: null, stats };
    try {
      await requester.get(
        url,
        async () => ({ ...forwarded(login ? withAllowedCookies(login, url, headers) : headers), ...own }),
        async (response) => {
          login?.receive(url, response.headers);
          received.response = response;
          received.body = await readBody(response.body, maxBytes, budget);
        },
        { method, body: body ?? undefined },
      );
    } catch (error) {
      received.body = null;
      if (error instanceof RetrievalFailure) received.error = error.reason;
      else if (signal.aborted) received.error = 'timeout';
      else throw error;
    }
    return received;
  }
}

/** A whole body, hashed as it came, so that a long one does not hold up the event loop. */
interface Body {
  bytes: Buffer;
  sha256: string;
}

/** What came of a request. The body is null if it is not whole. */
interface Received {
  response: HttpResponse | null;
  body: Body | null;
  error: RetrievalError | null;
  stats: AttemptStats;
}

interface Owners {
  /** The names of the owner's headers that were sent. */
  ownHeaders: ReadonlySet<string>;
  secrets: Secrets | undefined;
}

function partOf(
  url: URL,
  { url: asked, method, type, body: sent }: PageRequestToAnswer,
  { response, body, error, stats }: Received,
  { ownHeaders, secrets }: Owners,
): FetchedPart {
  const requestBody = response && keptBody(sent, secrets);
  const { status = null, headers = [], connection } = response ?? {};
  const object = {
    sha256: body && body.sha256,
    bytes: body && body.bytes.length,
  };
  return {
    request: { url: asked, method, status, type, ...object, from: 'web', reason: body ? null : error },
    retrieval: {
      round: null,
      url: url.href,
      final_url: url.href,
      redirects: [],
      observer: SELF,
      original_observed_at: null,
      status,
      error: error ?? errorOf(response, body),
      content_type: response?.header('content-type') ?? null,
      headers,
      request: response && sentRequest(response, method, requestBody, ownHeaders),
      ...object,
      duration_ms: Math.round(stats.duration_ms),
      page_label: null,
      connection: connection?.record ?? null,
    },
    body: body && body.bytes,
    requestBody,
    certificates: new Map(connection?.certificates ?? []),
  };
}

/** A body with a secret in it is not kept, because the object would hold the secret in the clear. */
function keptBody(sent: Buffer | null, secrets: Secrets | undefined): Buffer | null {
  if (!sent || sent.length === 0) return null;
  return secrets?.isIn(sent.toString('latin1')) ? null : sent;
}

/** What is published of a sent request: values that may be secrets are null. */
function sentRequest(
  { sent }: HttpResponse,
  method: string,
  body: Buffer | null,
  ownHeaders: ReadonlySet<string>,
): SentRequest {
  return {
    method,
    headers: sent.map(([name, value]) => [name, ownHeaders.has(name) || SECRET.test(name) ? null : value]),
    ...(body && { body: { sha256: hash('sha256', body, 'hex'), bytes: body.length } }),
  };
}

function siteOf(url: string): string {
  return domainOf(new URL(url).hostname);
}

/** Browsers send some cookies where this node does not, such as secure ones to this machine without encryption. */
function withAllowedCookies(
  login: ProfileSession,
  url: URL,
  headers: Record<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (name.toLowerCase() !== 'cookie') return [[name, value]];
      const allowed = login.allowed(url, value);
      return allowed === '' ? [] : [[name, allowed]];
    }),
  );
}

/** What the browser sends, without what the node sets itself. */
function forwarded(headers: Record<string, string>): Record<string, string> {
  let left = MAX_HEADER_CHARACTERS;
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) =>
        !NOT_FORWARDED.test(name) &&
        !/[^\t\x20-\x7e\x80-\xff]/.test(value) &&
        (left -= name.length + value.length) >= 0,
    ),
  );
}

function errorOf(response: HttpResponse | null, body: Body | null): RetrievalError | null {
  if (!response) return 'connection_reset';
  const { status } = response;
  if (isErrorStatus(status)) return 'http_error';
  if (isRedirect(response)) return 'redirected';
  const isPart = status === 206 && body?.bytes.length !== wholeRange(response.header('content-range'));
  return status >= 200 && status < 300 && !isPart ? null : 'invalid_response';
}

async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  budget: ByteBudget,
): Promise<Body> {
  const parts: Uint8Array[] = [];
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes || !budget.take(chunk.length)) throw new RetrievalFailure('object_too_large');
    parts.push(chunk);
    digest.update(chunk);
  }
  return { bytes: Buffer.concat(parts), sha256: digest.digest('hex') };
}

/** A redirect on the way to the document. Those of earlier versions have no headers, but a target: the next address. */
function redirectAnswer(
  hop: Redirect,
  { redirects, redirectCookies, final_url }: CheckedDocument,
): PageAnswer {
  const at = redirects.indexOf(hop);
  const next = redirects[at + 1]?.url ?? final_url;
  const headers = hop.headers?.some(([name]) => name.toLowerCase() === 'location')
    ? hop.headers
    : [['location', next] as const];
  const cookies = (redirectCookies[at] ?? []).map((value) => ['set-cookie', value] as const);
  return { status: hop.status, headers: [...headers, ...cookies], body: Buffer.alloc(0) };
}
