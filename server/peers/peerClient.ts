import type { IncomingMessage, RequestOptions } from 'node:http';
import type { z } from 'zod';
import { errorCode } from '../../shared/values/errorCode.ts';
import { Agent, request as httpRequest } from '../runtime/nodeHttp.ts';
import { pinnedAgent } from './pinnedAgent.ts';
import { ResponseDeadline, systemTimer, type Timer } from './responseDeadline.ts';

/** A peer did not answer, or not as a node does. The message is a sentence for the owner. */
export class PeerError extends Error {
  /** `unreachable`: no connection; `stalled`: too slow; `failing`: any other response than a node's. */
  readonly kind: 'unreachable' | 'stalled' | 'failing';
  /** The status of the response, if there was one. */
  readonly status: number | undefined;

  constructor(
    kind: PeerError['kind'],
    message: string,
    { cause, status }: { cause?: unknown; status?: number } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PeerError';
    this.kind = kind;
    this.status = status;
  }
}

/** A peer shows another certificate than the pinned one. Nothing was sent to it. */
export class CertificateError extends PeerError {
  /** The SHA-256 of the certificate that it showed. */
  readonly seen: string;

  constructor(host: string, seen: string) {
    super('unreachable', `${host} shows another certificate than the one that is pinned. Ask its owner.`);
    this.name = 'CertificateError';
    this.seen = seen;
  }
}

/** Where a peer is. */
export interface PeerAddress {
  /** The address of the node, as in `newPeerSchema`. */
  url: string;
  /** The SHA-256 of the certificate that it must show; null accepts the one that it shows first. */
  tls_fingerprint: string | null;
}

/** Connections to one peer at once. */
export const MAX_CONNECTIONS = 16;

/**
 * Reads from one peer, over a few kept connections. Every response is bounded in bytes and time, a redirect is refused,
 * and no credentials are ever sent. Private and loopback addresses are allowed, because the owner named the address.
 */
export class PeerClient {
  readonly #base: string;
  readonly #host: string;
  readonly #agent: InstanceType<typeof Agent>;
  readonly #request: typeof httpRequest;
  readonly #timer: Timer;
  readonly #signal: AbortSignal | undefined;
  #certificate: string | null;

  constructor(
    { url, tls_fingerprint }: PeerAddress,
    { timer = systemTimer, signal }: { timer?: Timer | undefined; signal?: AbortSignal } = {},
  ) {
    const { protocol, host } = new URL(url);
    const https = protocol === 'https:' ? process.getBuiltinModule('node:https') : undefined;
    const options = { keepAlive: true, maxSockets: MAX_CONNECTIONS };
    this.#base = url.replace(/\/+$/, '');
    this.#host = host;
    this.#certificate = tls_fingerprint;
    this.#agent = https
      ? pinnedAgent({ ...options, check: (shown) => this.#checkCertificate(shown) })
      : new Agent(options);
    this.#request = https ? https.request : httpRequest;
    this.#timer = timer;
    this.#signal = signal;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The SHA-256 of the certificate that every connection must show; null over plain HTTP, or before the first one. */
  get certificate(): string | null {
    return this.#certificate;
  }

  #checkCertificate(shown: string): Error | undefined {
    this.#certificate ??= shown;
    return shown === this.#certificate ? undefined : new CertificateError(this.#host, shown);
  }

  /** @throws PeerError */
  async text(path: string, maxBytes: number): Promise<string> {
    return (await this.bytes(path, maxBytes)).toString();
  }

  /** @throws PeerError, also if the response has not this form */
  async json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    maxBytes: number,
  ): Promise<z.output<Schema>> {
    const text = await this.text(path, maxBytes);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#failing('gave a response that is not JSON', cause);
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success)
      throw this.#failing(`gave a response that no node gives (${pathOnly(path)})`, parsed.error);
    return parsed.data;
  }

  /** Reads a whole response. @throws PeerError, as soon as it has more than `maxBytes` */
  async bytes(path: string, maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let received = 0;
    for await (const chunk of this.stream(path)) {
      received += chunk.length;
      if (received > maxBytes) throw new TooLargeError(`${this.#host} gave more than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Streams a response. The caller bounds its bytes; the time is bounded here. @throws PeerError */
  async *stream(path: string): AsyncGenerator<Buffer> {
    const deadline = new ResponseDeadline(this.#timer);
    let response: IncomingMessage | undefined;
    try {
      response = await this.#open(path, deadline);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        deadline.received(chunk.length);
        yield chunk;
      }
      if (!response.complete) throw this.#failing('ended a response early');
    } catch (error) {
      throw this.#asPeerError(error, deadline);
    } finally {
      deadline.end();
      if (response && !response.complete) response.destroy();
    }
  }

  /** The peer may have closed a kept connection at this moment: then the request is sent over another one. */
  async #open(path: string, deadline: ResponseDeadline): Promise<IncomingMessage> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#send(path, deadline);
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error;
        if (attempt === MAX_CONNECTIONS) throw this.#failing('closes every connection', error);
      }
    }
  }

  #send(path: string, deadline: ResponseDeadline): Promise<IncomingMessage> {
    const options: RequestOptions = {
      agent: this.#agent,
      headers: { 'Accept-Encoding': 'identity' },
      ...(this.#signal ? { signal: this.#signal } : {}),
    };
    return new Promise((resolve, reject) => {
      const request = this.#request(`${this.#base}${path}`, options);
      // A request that waits for its connection reports nothing when it is destroyed.
      const abandon = () => reject(new Error('The request was cancelled.'));
      this.#signal?.addEventListener('abort', abandon, { once: true });
      request.once('close', () => this.#signal?.removeEventListener('abort', abandon));
      deadline.onEnd(() => {
        request.destroy();
        abandon();
      });
      request.once('error', (error) => {
        const isStale = request.reusedSocket && errorCode(error) === 'ECONNRESET' && !deadline.isOver;
        reject(isStale ? new StaleConnectionError('The connection was closed.', { cause: error }) : error);
      });
      request.once('response', (response) => {
        const { statusCode: status = 0 } = response;
        if (status === 200) return resolve(response);
        response.destroy();
        reject(this.#refusal(status, path));
      });
      request.end();
    });
  }

  #refusal(status: number, path: string): PeerError {
    const message =
      status >= 300 && status < 400
        ? `${this.#host} leads to another address. Enter the address of the node itself.`
        : status === 401 || status === 403
          ? `${this.#host} is not shared with this machine. Ask its owner to share it.`
          : `${this.#host} answered ${status} (${pathOnly(path)}).`;
    return new PeerError('failing', message, { status });
  }

  #failing(what: string, cause?: unknown): PeerError {
    return new PeerError('failing', `${this.#host} ${what}.`, { cause });
  }

  #asPeerError(error: unknown, deadline: ResponseDeadline): unknown {
    if (error instanceof PeerError || error instanceof TooLargeError) return error;
    if (deadline.isOver)
      return new PeerError('stalled', `${this.#host} is too slow to answer.`, { cause: error });
    if (this.#signal?.aborted) return this.#signal.reason;
    const code = errorCode(error);
    if (code === undefined) return error;
    if (/^(HPE_|ERR_STREAM|ERR_HTTP)/.test(code))
      return this.#failing('gave a response that is not HTTP', error);
    if (code === 'ECONNRESET') return this.#failing('broke off its response', error);
    return new PeerError('unreachable', `${this.#host} cannot be reached (${code}).`, { cause: error });
  }
}

/** A response is larger than allowed. */
export class TooLargeError extends PeerError {
  constructor(message: string) {
    super('failing', message);
    this.name = 'TooLargeError';
  }
}

/** A kept connection was closed before the response began. */
class StaleConnectionError extends Error {}

function pathOnly(path: string): string {
  return path.split('?', 1)[0] ?? path;
}
