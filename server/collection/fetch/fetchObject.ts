import { isHttpUrl } from '../../../shared/text.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { Validators } from '../../store/sqlite/collection/validators.ts';
import type { Attempt, FetchServices, ObjectRequest } from './attempt.ts';
import type { Answer } from './exchange.ts';
import { RetrievalFailure } from './failure.ts';
import { fetchRobotsTxt } from './fetchRobotsTxt.ts';
import { isRedirect, redirectTarget } from './redirects.ts';
import { Requester } from './requester.ts';
import { conditionalHeaders, redactOwnerHeaders } from './requestHeaders.ts';

const MAX_REDIRECTS = 10;
const BEGINNING_BYTES = 65_536;

/**
 * Asks for an object once: follows redirects by hand, keeps to robots.txt and to what is polite, and streams the body
 * to `receive` exactly as it came. Every failure of the web is in the result, by its word.
 *
 * @throws HostBackoffError where the host is to be left alone; the signal's reason; what `receive` throws of its own.
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

  constructor(services: FetchServices, request: ObjectRequest<Received>) {
    this.#services = services;
    this.#request = request;
    this.#attempt = {
      final_url: request.url,
      redirects: [],
      status: null,
      error: null,
      content_type: null,
      headers: [],
      request: null,
      received: null,
      beginning: Buffer.alloc(0),
      unchanged: null,
      answered: false,
      isPrivate: undefined,
      retry_at: null,
      duration_ms: 0,
    };
    this.#requester = new Requester(services, request, this.#attempt);
  }

  async run(): Promise<Attempt<Received>> {
    try {
      await this.#follow();
    } catch (error) {
      if (!(error instanceof RetrievalFailure)) throw error;
      this.#attempt.error = error.word;
      // It may be another attempt of the same origin that was answered.
      this.#attempt.answered ||= error.word === 'robots_unreachable';
    }
    return this.#attempt;
  }

  async #follow(): Promise<void> {
    // Not only what was added here is asked for: what was imported long ago may be anything.
    if (!isHttpUrl(this.#request.url)) throw new RetrievalFailure('invalid_url');
    const seen = new Set<string>();
    for (let url: URL | undefined = new URL(this.#request.url); url; ) {
      if (seen.has(url.href)) throw new RetrievalFailure('redirect_loop');
      if (seen.size > MAX_REDIRECTS) throw new RetrievalFailure('too_many_redirects');
      seen.add(url.href);
      Object.assign(this.#attempt, {
        final_url: url.href,
        request: null,
        status: null,
        headers: [],
        content_type: null,
      });
      await this.#checkRobots(url);
      url = await this.#ask(url);
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

  /** Asks for one address; gives back the address that it redirects to. */
  async #ask(url: URL): Promise<URL | undefined> {
    const attempt = this.#attempt;
    let validators: Validators | undefined;
    const headers = async () => {
      const known = await this.#request.validators();
      if (known?.url === url.href) validators = known;
      return {
        ...this.#ownHeaders(url),
        ...(validators === undefined ? {} : conditionalHeaders(validators)),
      };
    };
    return this.#requester.ask(url, headers, async (answer) => {
      attempt.status = answer.status;
      attempt.headers = answer.headers;
      attempt.request = { method: 'GET', headers: redactOwnerHeaders(this.#ownHeaders(url), answer.sent) };
      attempt.content_type = answer.header('content-type') ?? null;
      if (isRedirect(answer)) {
        const to = redirectTarget(url, answer);
        attempt.redirects.push({ url: url.href, status: answer.status });
        return to;
      }
      if (answer.status === 304) {
        if (validators === undefined) throw new RetrievalFailure('invalid_response');
        attempt.unchanged = validators;
        return undefined;
      }
      await this.#receive(answer);
      return undefined;
    });
  }

  #ownHeaders(url: URL): Record<string, string> {
    return url.origin === new URL(this.#request.url).origin ? this.#request.headers : {};
  }

  /** Takes the body of a final answer. That of an error is taken too: it is archived, but is no observation. */
  async #receive(answer: Answer): Promise<void> {
    const { maxBytes, receive } = this.#request;
    const ok = answer.status >= 200 && answer.status < 300 && answer.status !== 206;
    try {
      if (Number(answer.header('content-length') ?? 0) > maxBytes) throw new TooManyBytesError(maxBytes);
      this.#attempt.received = await receive(this.#keepBeginning(answer.body), maxBytes);
    } catch (error) {
      const failure = error instanceof TooManyBytesError ? new RetrievalFailure('object_too_large') : error;
      if (ok || !(failure instanceof RetrievalFailure)) throw failure;
    }
    if (answer.status >= 400) throw new RetrievalFailure('http_error');
    if (!ok) throw new RetrievalFailure('invalid_response');
  }

  async *#keepBeginning(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      const room = BEGINNING_BYTES - this.#attempt.beginning.length;
      if (room > 0)
        this.#attempt.beginning = Buffer.concat([this.#attempt.beginning, chunk.subarray(0, room)]);
      yield chunk;
    }
  }
}
