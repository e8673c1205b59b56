import type { Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { every } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import type { Store } from '../../store/store.ts';

/** One message of a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
interface StreamMessage {
  event?: string;
  id?: string | number;
  data: unknown;
}

/** Proxies and browsers close silent connections. A comment keeps the connection open. */
const HEARTBEAT_MS = 15_000;
/** A reader that is further behind is disconnected. It reconnects with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** The maximum number of open streams. Each window of the interface has two. */
const MAX_STREAMS = 500;

/** The event that the app emits when the node is closed, so that streams end. */
export const CLOSING = 'closing';

/**
 * Opens a stream of server-sent events on a response. `subscribe` receives the send function and returns unsubscribe,
 * which is called when the reader disconnects. HEAD gets only the headers.
 *
 * @throws Problem `busy` if too many streams are open
 */
export function openEventStream(
  response: Response,
  subscribe: (send: (message: StreamMessage) => void) => () => void,
): void {
  if (response.app.listenerCount(CLOSING) >= MAX_STREAMS) {
    throw new Problem(
      'busy',
      `At most ${MAX_STREAMS} event streams can be open. Close one, or try again later.`,
    );
  }
  response
    .status(200)
    .set({ 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  if (response.req.method === 'HEAD') return void response.end();
  response.flushHeaders();
  response.write('retry: 2000\n\n');
  const send = (message: StreamMessage) => {
    // The node is closing. The reader gets this message when it reconnects.
    if (response.writableEnded) return;
    if (response.writableLength > MAX_BUFFERED_BYTES) return void response.destroy();
    response.write(textOf(message));
  };
  const heartbeat = every(HEARTBEAT_MS, () => !response.writableEnded && response.write(': still here\n\n'));
  const unsubscribe = subscribe(send);
  const end = () => {
    clearInterval(heartbeat);
    response.end();
  };
  response.app.once(CLOSING, end);
  response.on('close', () => {
    clearInterval(heartbeat);
    response.app.off(CLOSING, end);
    unsubscribe();
  });
}

const EVENT_STREAM = 'text/event-stream';

/**
 * Stops a response that its reader may not get any more. A stream of events is never whole, so that its end is no error to
 * a browser; a file that is cut off must be one. A response that has not begun is not touched.
 */
export function cutOff(response: Response): void {
  if (String(response.getHeader('Content-Type')).startsWith(EVENT_STREAM)) response.end();
  else if (response.headersSent) response.destroy();
}

function textOf({ event, id, data }: StreamMessage): string {
  const lines = [
    event && `event: ${event}`,
    id !== undefined && `id: ${id}`,
    `data: ${JSON.stringify(data)}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n\n`;
}

/** Where the rows of a feed come from: an append-only table of numbered rows. */
interface RowSource<Row extends { id: number }> {
  /** Returns up to `limit` rows after a number, in order. */
  read: (after: number, limit: number) => Row[];
  onCommit: Store['onCommit'];
  log: Log;
}

const BATCH_ROWS = 100;

/** Streams the rows of a table as they are committed. */
export class RowFeed<Row extends { id: number }> {
  readonly #source: RowSource<Row>;
  /** The last batch. Most readers have the same rows, so that one query after a commit serves them all. */
  #batch: { after: number; messages: { id: number; text: string }[] } | undefined;

  constructor(source: RowSource<Row>) {
    this.#source = source;
    source.onCommit(() => {
      this.#batch = undefined;
    });
  }

  /**
   * Sends the rows after a number, each once and in order, and those that are committed later. It waits for slow readers,
   * so it never buffers more than a few rows. If the rows cannot be read, the reader is disconnected and tries again.
   *
   * @throws Problem `busy` if too many streams are open
   */
  open(response: Response, after: number): void {
    openEventStream(response, () => {
      let last = after;
      const sendNewRows = () => {
        try {
          while (!response.writableNeedDrain && !response.writableEnded && !response.destroyed) {
            const messages = this.#messagesAfter(last);
            for (const { text } of messages) response.write(text);
            last = messages.at(-1)?.id ?? last;
            if (messages.length < BATCH_ROWS) return;
          }
        } catch (error) {
          this.#source.log.error({ error }, 'The rows of an event stream could not be read.');
          response.destroy();
        }
      };
      const unsubscribe = this.#source.onCommit(sendNewRows);
      response.on('drain', sendNewRows);
      sendNewRows();
      return unsubscribe;
    });
  }

  #messagesAfter(after: number): { id: number; text: string }[] {
    if (this.#batch?.after !== after) {
      const rows = this.#source.read(after, BATCH_ROWS);
      this.#batch = {
        after,
        messages: rows.map((row) => ({ id: row.id, text: textOf({ id: row.id, data: row }) })),
      };
    }
    return this.#batch.messages;
  }
}
