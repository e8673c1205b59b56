import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pLimit from 'p-limit';
import { z } from 'zod';
import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import { MEBIBYTE } from '../../../shared/limits.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { RetrievalFailure } from '../../collection/fetch/connect.ts';
import { exchange, type HttpResponse } from '../../collection/fetch/exchange.ts';
import { Deadline, type Network, parseRetryAfter } from '../../collection/fetch/requester.ts';
import { isPrivateHost } from '../../collection/sources/privateSources.ts';
import type { Log } from '../../runtime/log.ts';
import { isMissing, writeFileDurably } from '../../store/files.ts';
import { RepositoryError, TOO_LARGE } from './repository.ts';

/** A body that is read while it is sent. */
export interface StreamedBody {
  bytes: number;
  read: () => AsyncIterable<Uint8Array>;
  type: string;
}

interface RepositoryRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the address of the repository, with its query. */
  path: string;
  json?: unknown;
  body?: StreamedBody;
}

export interface RepositoryServices extends Network {
  clock: Clock;
  settings: () => { user_agent: string; request_timeout_seconds: number };
  log: Pick<Log, 'warn' | 'error'>;
}

interface Access {
  url: string;
  token: string;
  /** The header with the token, and what comes before it. */
  header: readonly [name: string, prefix: string];
  signal: AbortSignal;
}

/** An answer lists at most 5,000 files. */
const MAX_ANSWER_BYTES = 8 * MEBIBYTE;
/** Repositories work on some requests for long, such as a publication. */
const MIN_TIMEOUT_MS = 120_000;
/** A body that is sent or received more slowly is given up. */
const MIN_BYTES_PER_SECOND = 20_000;
/** Pauses before a request that changes nothing is sent again. */
const RETRY_AFTER_MS = [1_000, 5_000, 20_000];
/** A repository that limits requests without saying for how long. */
const LIMITED_MS = 30_000;
/** A longer wait is left to the owner. */
const MAX_WAIT_MS = 900_000;
const MAX_WAITS = 20;

/**
 * Sends requests to one repository, with its token and within the node's rules for outgoing requests: bounded in bytes and
 * time, no redirects, and no private address behind a public name. Waits where the repository limits requests (429,
 * Retry-After). Only a GET is sent again after its answer was lost.
 */
export class RepositoryHttp {
  readonly #services: RepositoryServices;
  readonly #access: Access;
  readonly #mayConnect: (address: string) => boolean;

  constructor(services: RepositoryServices, access: Access) {
    this.#services = services;
    this.#access = access;
    const { isPrivateAddress } = services;
    const isPrivate = isPrivateHost(access.url, isPrivateAddress);
    // Over plain HTTP the token goes to a private address only, whatever a local name leads to.
    this.#mayConnect = this.#isPlain
      ? isPrivateAddress
      : (address) => isPrivate || !isPrivateAddress(address);
  }

  get url(): string {
    return this.#access.url;
  }

  get #isPlain(): boolean {
    return this.url.startsWith('http:');
  }

  /** Returns the JSON of an answer with status 2xx; null if it has none. @throws RepositoryError; the signal's reason */
  async send(request: RepositoryRequest): Promise<unknown> {
    for (let lost = 0, waits = 0; ; ) {
      try {
        return await this.#sendOnce(request);
      } catch (error) {
        this.#access.signal.throwIfAborted();
        if (error instanceof LimitedError && waits < MAX_WAITS && error.waitMs <= MAX_WAIT_MS) {
          waits += 1;
          await this.pause(error.waitMs);
          continue;
        }
        const wait = RETRY_AFTER_MS[lost];
        if (request.method !== 'GET' || !isLost(error) || wait === undefined) throw error;
        lost += 1;
        await this.pause(wait);
      }
    }
  }

  /** @throws the signal's reason */
  async pause(ms: number): Promise<void> {
    await this.#services.clock.sleep(ms, this.#access.signal);
    this.#access.signal.throwIfAborted();
  }

  async #sendOnce({ method, path, json, body }: RepositoryRequest): Promise<unknown> {
    const { clock, lookup } = this.#services;
    const { url, token, header } = this.#access;
    const { user_agent, request_timeout_seconds } = this.#services.settings();
    const deadline = new Deadline(clock, Math.max(MIN_TIMEOUT_MS, request_timeout_seconds * 1000));
    const sent = bodyOf(json, body, deadline);
    try {
      return await exchange(
        {
          url: new URL(url + path),
          method,
          headers: {
            'user-agent': user_agent,
            accept: 'application/json',
            'accept-encoding': 'identity',
            [header[0]]: header[1] + token,
            ...sent?.headers,
          },
          body: sent?.body,
          connections: undefined,
          lookup,
          mayConnect: this.#mayConnect,
          signal: AbortSignal.any([this.#access.signal, deadline.signal]),
        },
        (response) => this.#receive(method, response, deadline),
      );
    } catch (error) {
      if (sent?.failure() !== undefined) throw sent.failure();
      if (error instanceof RetrievalFailure)
        throw new RepositoryError(this.#sentence(error), statusOf(error, method), { cause: error });
      throw error;
    } finally {
      deadline.settle();
    }
  }

  async #receive(method: string, response: HttpResponse, deadline: Deadline): Promise<unknown> {
    const text = await readBounded(response, deadline);
    const { status } = response;
    const content = parsed(text);
    if (status >= 200 && status < 300) {
      // An answer that is no JSON comes from something in between.
      if (content === undefined && text.trim() !== '')
        throw new RepositoryError(`${this.url} answered with something that is not JSON.`);
      return content ?? null;
    }
    // What is between may answer 503 although the repository has done what was asked for. Then nothing but a GET is repeated.
    const isBusy = status === 503 && method === 'GET' && response.header('retry-after') !== undefined;
    if (status === 429 || isBusy) {
      const now = this.#services.clock.now();
      const at = parseRetryAfter(response.header('retry-after'), now);
      throw new LimitedError(this.url, status, Math.max(1_000, (at ?? now + LIMITED_MS) - now));
    }
    const said = saidBy(content, this.#access.token);
    this.#services.log.warn({ status, said }, 'A repository refused a request.');
    if (status >= 300 && status < 400)
      throw new RepositoryError(
        `${this.url} redirects to another address. Add the repository with that address.`,
        status,
      );
    throw new RepositoryError(refusalSentence(this.url, status, said), status);
  }

  #sentence({ reason }: RetrievalFailure): string {
    if (reason === 'redirect_refused')
      return this.#isPlain
        ? `${this.url} leads to a public address, to which the token would be sent unencrypted. Use the https address.`
        : `The public name of ${this.url} leads to a private address.`;
    if (reason === 'object_too_large') return `The answer of ${this.url} is too large.`;
    return `${this.url} could not be reached: ${failureWords(reason, null)}.`;
  }
}

/** An answer that is too large is not asked for again. What another request than a GET has done is not known. */
function statusOf({ reason }: RetrievalFailure, method: string): number | null {
  return reason === 'object_too_large' && method === 'GET' ? TOO_LARGE : null;
}

/** A repository asks to wait. */
class LimitedError extends RepositoryError {
  readonly waitMs: number;

  constructor(url: string, status: number, waitMs: number) {
    const minutes = Math.ceil(waitMs / 60_000);
    super(`${url} takes no more requests for ${minutes} min. Continue the deposit later.`, status);
    this.waitMs = waitMs;
  }

  /** It was not processed. */
  override get isLost(): boolean {
    return false;
  }
}

function isLost(error: unknown): boolean {
  return error instanceof RepositoryError && error.isLost;
}

interface SentBody {
  body: Uint8Array | Readable;
  headers: Record<string, string>;
  /** Why reading the body failed; undefined if it did not. */
  failure: () => unknown;
}

function bodyOf(json: unknown, body: StreamedBody | undefined, deadline: Deadline): SentBody | undefined {
  if (body) {
    let failure: unknown;
    const chunks = async function* () {
      try {
        for await (const chunk of body.read()) {
          deadline.extend((chunk.length / MIN_BYTES_PER_SECOND) * 1000);
          yield chunk;
        }
      } catch (error) {
        // The client reports it as a broken connection.
        failure = error;
        throw error;
      }
    };
    return {
      body: Readable.from(chunks(), { objectMode: false }),
      headers: { 'content-type': body.type, 'content-length': String(body.bytes) },
      failure: () => failure,
    };
  }
  if (json === undefined) return undefined;
  const bytes = Buffer.from(JSON.stringify(json));
  return { body: bytes, headers: { 'content-type': 'application/json' }, failure: () => undefined };
}

async function readBounded(response: HttpResponse, deadline: Deadline): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) throw new RetrievalFailure('object_too_large');
    deadline.extend((piece.length / MIN_BYTES_PER_SECOND) * 1000);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Whoever called says what follows from it.
    return undefined;
  }
}

const MAX_SAID = 500;

/** Returns what an error document of a repository says: `message`, and the faults of fields. It may repeat the token. */
function saidBy(content: unknown, token: string): string {
  if (typeof content !== 'object' || content === null) return '';
  const { message, errors } = content as { message?: unknown; errors?: unknown };
  const faults = Array.isArray(errors) ? faultsOf(errors) : '';
  return [typeof message === 'string' ? message : '', faults]
    .filter((text) => text !== '')
    .join(' ')
    .replaceAll(token, '(token)')
    .replace(/\s+/gu, ' ')
    .slice(0, MAX_SAID)
    .toWellFormed();
}

/** Returns the faults that an InvenioRDM repository lists: a field each, with messages. */
function faultsOf(errors: readonly unknown[]): string {
  return errors
    .flatMap((each) => {
      if (typeof each !== 'object' || each === null) return [];
      const { field, messages } = each as { field?: unknown; messages?: unknown };
      if (typeof field !== 'string') return [];
      return [`${field}: ${Array.isArray(messages) ? messages.join(' ') : ''}`];
    })
    .join(' ');
}

function refusalSentence(url: string, status: number, said: string): string {
  const why = said === '' ? '' : ` It says: ${said}`;
  if (status === 401) return `${url} does not accept the token. It may have expired.${why}`;
  if (status === 403) return `The token does not give the right to do this at ${url}.${why}`;
  return `${url} refused the request with status ${status}.${why}`;
}

/** @throws RepositoryError if an answer has not the form of the published interface */
export function understood<Schema extends z.ZodType>(
  schema: Schema,
  answer: unknown,
  url: string,
): z.output<Schema> {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  throw new RepositoryError(
    `The answer of ${url} is not what this kind of repository sends. Is the address right?`,
    null,
    { cause: read.error },
  );
}

const schema = z.record(z.string(), z.string());

/**
 * The tokens of repositories, by the repository's id, in a file of the data folder that only its owner can read. They are
 * in no dump, copy or export, and never shown or logged.
 */
export class RepositoryTokens {
  readonly #file: string;
  readonly #oneAtATime = pLimit(1);

  constructor(folder: string) {
    this.#file = join(folder, 'repository-tokens');
  }

  async all(): Promise<Record<string, string>> {
    try {
      return schema.parse(JSON.parse(await readFile(this.#file, 'utf8')));
    } catch (error) {
      if (isMissing(error)) return {};
      throw error;
    }
  }

  /** Keeps the token of a repository, or forgets it. */
  set(repository: string, token: string | undefined): Promise<void> {
    return this.#oneAtATime(async () => {
      const tokens = await this.all();
      if (token === undefined) delete tokens[repository];
      else tokens[repository] = token;
      await writeFileDurably(this.#file, `${JSON.stringify(tokens)}\n`, 0o600);
    });
  }
}
