import type { Readable, Writable } from 'node:stream';
import { after, type OnFailure, reportUncaught } from '../runtime/background.ts';

/*
 * The Chrome DevTools protocol. Chromium speaks it over a pipe, Electron through `webContents.debugger`; both give messages
 * of the same form, with a session for each target.
 */

export type Params = Record<string, unknown>;

/** An event of a session. */
export interface ProtocolEvent {
  method: string;
  params: Params;
  sessionId: string;
}

/** The browser, the tab or the connection is gone. */
export class BrowserGoneError extends Error {
  constructor() {
    super('The browser has ended.');
    this.name = 'BrowserGoneError';
  }
}

/** The browser refused a command. */
export class ProtocolError extends Error {
  constructor(method: string, message: string) {
    super(`${method}: ${message}`);
    this.name = 'ProtocolError';
  }
}

/** A connection to a browser. */
export interface BrowserConnection {
  /** Sends a command. @throws ProtocolError; BrowserGoneError */
  send<Result = Params>(method: string, params?: Params, sessionId?: string): Promise<Result>;
  /** Calls a listener for every event until the returned function is called. */
  listen(listener: (event: ProtocolEvent) => void): () => void;
  /** Resolves when the connection has ended. */
  readonly gone: Promise<void>;
}

/** No answer of the browser is longer: a picture of 20,000 pixels in base64. */
const MAX_ANSWER_BYTES = 256 * 1_048_576;
/** Pages decide how long events are. Longer ones are dropped, because parsing them would hold up the event loop. */
const MAX_EVENT_BYTES = 32 * 1_048_576;
/** What is kept of the beginning and of the end of a message that is too long. */
const HEAD_BYTES = 16_384;
const TAIL_BYTES = 1_024;

/** The event that takes the place of a `Fetch.requestPaused` that is too long. */
export const TOO_LONG = 'Fetch.requestTooLong';

interface Answer {
  id?: number;
  method?: string;
  params?: Params;
  sessionId?: string;
  result?: Params;
  error?: { message: string };
}

/** A connection over the two pipes of `--remote-debugging-pipe`: JSON messages that end with a zero byte. */
export class PipeConnection implements BrowserConnection {
  readonly gone: Promise<void>;
  readonly #out: Writable;
  readonly #pending = new Map<
    number,
    { resolve: (result: Params) => void; reject: (error: Error) => void; method: string }
  >();
  readonly #listeners = new Set<(event: ProtocolEvent) => void>();
  #end: () => void = () => {};
  #isGone = false;
  #lastId = 0;
  #parts: Buffer[] = [];
  #bytes = 0;
  #maxBytes = MAX_EVENT_BYTES;
  /** The beginning of a message that is too long. Then `#parts` has its end. */
  #head: Buffer | undefined;

  constructor(out: Writable, input: Readable, failed: OnFailure = reportUncaught) {
    this.#out = out;
    this.gone = new Promise((resolve) => {
      this.#end = resolve;
    });
    input.on('data', (chunk: Buffer) => {
      try {
        this.#receive(chunk);
      } catch (error) {
        failed(error);
        this.close();
      }
    });
    for (const stream of [out, input])
      for (const event of ['close', 'end', 'error']) stream.on(event, () => this.close());
  }

  send<Result = Params>(method: string, params: Params = {}, sessionId?: string): Promise<Result> {
    if (this.#isGone) return Promise.reject(new BrowserGoneError());
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (result) => resolve(result as Result), reject, method });
      this.#out.write(`${JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) })}\0`);
    });
  }

  listen(listener: (event: ProtocolEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { reject } of this.#pending.values()) reject(new BrowserGoneError());
    this.#pending.clear();
    this.#end();
  }

  #receive(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, from)) {
      this.#append(chunk.subarray(from, end));
      const message = Buffer.concat(this.#parts);
      const head = this.#head;
      this.#parts = [];
      this.#bytes = 0;
      this.#maxBytes = MAX_EVENT_BYTES;
      this.#head = undefined;
      if (head) this.#onLongMessage(head.toString('utf8'), message.toString('utf8'));
      else this.#onMessage(JSON.parse(message.toString('utf8')) as Answer);
      from = end + 1;
    }
    this.#append(chunk.subarray(from));
  }

  /** Keeps a part of a message, but only the beginning and the end of one that is too long. */
  #append(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= this.#maxBytes) return;
    if (!this.#head) {
      const head = Buffer.concat(this.#parts).subarray(0, HEAD_BYTES);
      if (this.#maxBytes === MAX_EVENT_BYTES && head.toString('utf8').startsWith('{"id":')) {
        this.#maxBytes = MAX_ANSWER_BYTES;
        return;
      }
      this.#head = Buffer.from(head);
    }
    this.#parts = [Buffer.from(Buffer.concat(this.#parts).subarray(-TAIL_BYTES))];
  }

  /** Fails the command of a long answer. Of a long event only a request matters, which waits for its answer. */
  #onLongMessage(head: string, tail: string): void {
    const id = Number(/^\{"id":(\d+)/.exec(head)?.[1]);
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    waiting?.reject(new ProtocolError(waiting.method, 'The answer is too long.'));
    const [, requestId, rest = ''] =
      /^\{"method":"Fetch\.requestPaused","params":\{"requestId":"([^"]+)"(.*)/s.exec(head) ?? [];
    if (!requestId) return;
    const field = (name: string, text: string) => new RegExp(`"${name}":"([^"\\\\]*)`).exec(text)?.[1] ?? '';
    this.#emit({
      method: TOO_LONG,
      params: {
        requestId,
        url: field('url', rest),
        method: field('method', rest),
        type: field('resourceType', tail).toLowerCase(),
      },
      sessionId: field('sessionId', tail),
    });
  }

  #emit(event: ProtocolEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #onMessage({ id, method, params, sessionId, result, error }: Answer): void {
    if (id === undefined)
      return this.#emit({ method: method ?? '', params: params ?? {}, sessionId: sessionId ?? '' });
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) waiting?.reject(new ProtocolError(waiting.method, error.message));
    else waiting?.resolve(result ?? {});
  }
}

/** The browser or the page did not respond in time. */
export class BrowserTimeoutError extends Error {
  constructor() {
    super('The browser does not respond.');
    this.name = 'BrowserTimeoutError';
  }
}

/** Waits for an answer for a bounded time. @throws BrowserTimeoutError; what the promise rejects with */
export async function withTimeout<Result>(promise: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = after(ms, () => reject(new BrowserTimeoutError()));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a command to a frame, a dialog or a tab, which may come too late. */
export async function ignoringLateErrors(command: Promise<unknown>): Promise<void> {
  try {
    await command;
  } catch (error) {
    if (!(error instanceof ProtocolError || error instanceof BrowserGoneError)) throw error;
  }
}
