import pLimit from 'p-limit';
import { failureWords } from '../../shared/collection/retrievalWords.ts';
import { Problem } from '../../shared/problems.ts';
import type { Clock } from '../../shared/values/clock.ts';
import type {
  ReceivedAnswer,
  RecordedRequests,
  RequestToRecord,
} from '../collection/record/recordedRequests.ts';
import { HostBackoffError } from '../collection/schedule/hostRateLimiter.ts';
import type { Store } from '../store/store.ts';
import { type ReadingOutcome, type ReadRecord, readInThread, SlowRecordError } from './readRecord.ts';
import { publishedAddress, withoutSignatures } from './recordFields.ts';
import type { Answer } from './repository.ts';

interface AskServices {
  store: Store;
  requests: RecordedRequests;
  retryDelays: readonly number[];
}

/** The record, and whether its repository is at a private address. */
export interface FoundRecord {
  record: ReadRecord;
  allowPrivateAddress: boolean | undefined;
}

/** Limits on one description, on all of a record, and on the requests for them. */
const MAX_DOCUMENT_BYTES = 16_777_216;
const MAX_DESCRIPTION_BYTES = 4 * MAX_DOCUMENT_BYTES;
const MAX_DOCUMENTS = 3_000;
const AT_ONCE = 4;

/** What is wanted of the page of a record, and of what describes it. */
const ACCEPT_PAGE = 'text/html, application/xhtml+xml, application/json;q=0.9, */*;q=0.5';
const ACCEPT_DESCRIPTION =
  'application/json, application/ld+json;q=0.9, application/linkset+json;q=0.9, application/vnd.api+json;q=0.9, */*;q=0.5';

/**
 * Reads a record: asks its address, then what the reader of its repository wants to know, until the record is complete.
 *
 * @throws Problem `record_unreadable`, `private_address`; the signal's reason
 */
export async function askRepository(
  services: AskServices,
  start: string,
  signal: AbortSignal,
): Promise<FoundRecord> {
  const asking = new Asking(services, signal, await services.requests.privateRuleFor(start));
  await asking.ask([start], ACCEPT_PAGE);
  for (;;) {
    const outcome = await asking.read(start);
    if ('wanted' in outcome) await asking.ask(outcome.wanted, ACCEPT_DESCRIPTION);
    else if ('unreadable' in outcome) throw asking.unreadablePart(outcome.unreadable);
    else if (outcome.record)
      return { record: outcome.record, allowPrivateAddress: asking.allowPrivateAddress };
    else throw asking.unreadable(start);
  }
}

class Asking {
  readonly #services: AskServices;
  readonly #signal: AbortSignal;
  readonly #failures = new Map<string, string>();
  readonly answers: Answer[] = [];
  /** False once a public host has answered, and from the start if the first address is public. */
  allowPrivateAddress: boolean | undefined;
  #bytes = 0;

  constructor(services: AskServices, signal: AbortSignal, allowPrivateAddress: false | undefined) {
    this.#services = services;
    this.#signal = signal;
    this.allowPrivateAddress = allowPrivateAddress;
  }

  /** Reads what was answered so far. */
  async read(start: string): Promise<ReadingOutcome> {
    try {
      return await readInThread({ start, answers: this.answers }, this.#signal);
    } catch (error) {
      throw error instanceof SlowRecordError ? unreadable(error.message) : error;
    }
  }

  /** Asks addresses, several at once. */
  async ask(urls: readonly string[], accept: string): Promise<void> {
    if (this.answers.length + urls.length > MAX_DOCUMENTS)
      throw unreadable(`It is described in more than ${MAX_DOCUMENTS} documents.`);
    // After a failure nothing else is asked.
    const stopped = new AbortController();
    const signal = AbortSignal.any([this.#signal, stopped.signal]);
    const askOne = async (url: string) => {
      try {
        signal.throwIfAborted();
        return await this.#askOne(url, accept, signal);
      } catch (error) {
        stopped.abort(error);
        throw error;
      }
    };
    const atOnce = pLimit(AT_ONCE);
    const outcomes = await Promise.allSettled(urls.map((url) => atOnce(() => askOne(url))));
    this.#signal.throwIfAborted();
    if (stopped.signal.aborted) throw stopped.signal.reason;
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') this.answers.push(outcome.value);
  }

  async #askOne(url: string, accept: string, signal: AbortSignal): Promise<Answer> {
    const pause = new Pause(this.#services.store.clock, this.#services.retryDelays, signal);
    for (;;) {
      const { answer, mayHelp } = await this.#attempt({ url, accept, signal }, pause);
      if (!mayHelp || !(await pause.beforeNext())) return answer;
    }
  }

  async #attempt(
    { url, accept, signal }: { url: string; accept: string; signal: AbortSignal },
    pause: Pause,
  ): Promise<{ answer: Answer; mayHelp: boolean }> {
    const chunks: Uint8Array[] = [];
    const request: RequestToRecord = {
      url,
      headers: { accept },
      maxBytes: MAX_DOCUMENT_BYTES,
      isCheck: true,
      allowPrivateAddress: this.allowPrivateAddress,
      publish: withoutSignatures,
      signal,
    };
    let received: ReceivedAnswer;
    try {
      received = await this.#services.requests.receive(request, (chunk) => {
        this.#bytes += chunk.length;
        if (this.#bytes > MAX_DESCRIPTION_BYTES)
          throw unreadable(`Its description has more than ${MAX_DESCRIPTION_BYTES} bytes.`);
        chunks.push(chunk);
      });
    } catch (error) {
      if (!(error instanceof HostBackoffError)) throw error;
      this.#failures.set(url, `the repository asks to wait until ${new Date(error.until).toISOString()}`);
      return { answer: nothingFrom(url), mayHelp: pause.isPossibleUntil(error.until) };
    }
    const { attempt, staged, cut } = received;
    try {
      await this.#services.requests.record(request, received);
    } finally {
      await staged?.discard();
    }
    if (attempt.error === 'storage_full')
      throw new Problem(
        'disk_nearly_full',
        'There is too little free disk space. Free some space and try again.',
      );
    if (received.isFromPublic) this.allowPrivateAddress = false;
    const { status, retry_at } = attempt;
    const error = attempt.error ?? cut;
    if (error !== null) this.#failures.set(url, inSentence(failureWords(error, status)));
    else this.#failures.delete(url);
    if (error === 'redirect_refused') {
      // A private address is refused before it answers. Another scheme is in an answer.
      if (status !== null)
        throw unreadable(`${publishedAddress(url)} leads to an address that is neither http nor https.`);
      throw new Problem('private_address', 'The address leads to a private address, which is not fetched.');
    }
    if (retry_at !== null) pause.waitUntil(retry_at);
    const isWhole = cut === null && staged !== null;
    return {
      answer: {
        url,
        finalUrl: attempt.final_url,
        status: isWhole ? status : null,
        contentType: attempt.content_type ?? '',
        links: attempt.headers.filter(([name]) => name.toLowerCase() === 'link').map(([, value]) => value),
        text: isWhole ? textOf(chunks) : '',
      },
      mayHelp: error !== null && mayChange(error, status),
    };
  }

  /** Says why nothing was found at an address. */
  unreadable(start: string): Problem {
    const failure = this.#failures.get(start);
    if (failure !== undefined) return unreadable(`Its address could not be read: ${failure}.`);
    const other = [...this.#failures][0];
    if (other) return this.unreadablePart(other[0]);
    return unreadable(
      'There is no record of InvenioRDM, Zenodo, Dataverse, OSF, figshare or Dryad at this address, and the page says with neither Signposting nor schema.org what it is.',
    );
  }

  /** Says why a part of the record could not be read. */
  unreadablePart(url: string): Problem {
    const failure = this.#failures.get(url) ?? 'the answer is not JSON';
    return unreadable(`${publishedAddress(url)} could not be read: ${failure}.`);
  }
}

function textOf(chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}

function nothingFrom(url: string): Answer {
  return { url, finalUrl: url, status: null, contentType: '', links: [], text: '' };
}

/** Returns a description of a failure for the middle of a sentence. */
export function inSentence(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1);
}

/** Whether another request may have another answer. */
function mayChange(error: string, status: number | null): boolean {
  if (error === 'http_error') return status !== null && (status >= 500 || status === 429 || status === 408);
  return /^(body_cut_short|timeout|connection_|dns_error|host_unreachable|invalid_response)/.test(error);
}

function unreadable(why: string): Problem {
  return new Problem('record_unreadable', `The record cannot be read. ${why}`);
}

/** The longest pause that a repository gets in one import (Retry-After). Later, the import can be continued. */
const MAX_WAIT_MS = 15 * 60_000;
/** How often a repository may ask for a pause for one request. */
const MAX_ASKED = 20;

/**
 * The pauses between the attempts of one request: the configured delays, and those that the repository asks for, which do not
 * count as attempts.
 */
export class Pause {
  readonly #clock: Clock;
  readonly #delays: readonly number[];
  readonly #signal: AbortSignal;
  #next = 0;
  #asked = 0;
  #until: number | undefined;

  /** @param delays in seconds */
  constructor(clock: Clock, delays: readonly number[], signal: AbortSignal) {
    this.#clock = clock;
    this.#delays = delays;
    this.#signal = signal;
  }

  startAgain(): void {
    this.#next = 0;
  }

  /** Notes that the host answers nothing until then, in milliseconds since the epoch. */
  waitUntil(time: number): void {
    this.#until = time;
  }

  /** As `waitUntil`, if that is soon enough. Returns whether it is. */
  isPossibleUntil(time: number): boolean {
    if (time - this.#clock.now() > MAX_WAIT_MS) return false;
    this.waitUntil(time);
    return true;
  }

  /** Waits before the next attempt. Returns false if there is none. @throws the signal's reason */
  async beforeNext(): Promise<boolean> {
    const until = this.#until;
    this.#until = undefined;
    if (until !== undefined) {
      this.#asked += 1;
      const wait = until - this.#clock.now();
      if (this.#asked > MAX_ASKED || wait > MAX_WAIT_MS) return false;
      if (wait > 0) await this.#clock.sleep(wait, this.#signal);
    } else {
      const delay = this.#delays[this.#next];
      if (delay === undefined) return false;
      this.#next += 1;
      await this.#clock.sleep(delay * 1000, this.#signal);
    }
    this.#signal.throwIfAborted();
    return true;
  }
}
