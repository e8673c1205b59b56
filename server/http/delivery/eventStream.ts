import type { Response } from 'express';

/** One message of a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export interface StreamMessage {
  event?: string;
  id?: string | number;
  data: unknown;
}

/** Proxies and browsers drop a silent connection; a comment keeps it. */
const HEARTBEAT_MS = 15_000;
/** A reader that is this far behind is cut off; it comes back with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** What the app emits when the node is closed: streams would otherwise run for ever. */
export const CLOSING = 'closing';

/**
 * Opens a stream of server-sent events on a response. `subscribe` is given how to send, and gives back how to end; it
 * is ended when the reader goes. HEAD gets the headers alone.
 */
export function openEventStream(
  response: Response,
  subscribe: (send: (message: StreamMessage) => void) => () => void,
): void {
  response
    .status(200)
    .set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  if (response.req.method === 'HEAD') return void response.end();
  response.flushHeaders();
  response.write('retry: 2000\n\n');
  const send = (message: StreamMessage) => {
    // Ended because the node closes; what is told meanwhile is read again when the reader comes back.
    if (response.writableEnded) return;
    if (response.writableLength > MAX_BUFFERED_BYTES) return void response.destroy();
    response.write(textOf(message));
  };
  const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS);
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

function textOf({ event, id, data }: StreamMessage): string {
  const lines = [
    event && `event: ${event}`,
    id !== undefined && `id: ${id}`,
    `data: ${JSON.stringify(data)}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n\n`;
}

/** Numbered rows that only ever are added to. */
export interface RowSource<Row extends { id: number }> {
  /** The number of the last row that the reader has. */
  after: number;
  /** Up to `limit` rows after a number, in order. */
  read: (after: number, limit: number) => Row[];
  onCommit: (listener: () => void) => () => void;
}

/** How many rows are read at a time. */
const ROWS_AT_ONCE = 100;

/**
 * Streams rows as they are committed, each once and in order: after every commit it reads on from the last one sent.
 * A reader that is slower than the archive is waited for, so the stream holds no more than a few rows.
 */
export function openRowStream<Row extends { id: number }>(response: Response, rows: RowSource<Row>): void {
  openEventStream(response, () => {
    let last = rows.after;
    const sendOn = () => {
      while (!response.writableNeedDrain && !response.writableEnded && !response.destroyed) {
        const batch = rows.read(last, ROWS_AT_ONCE);
        for (const row of batch) response.write(textOf({ id: row.id, data: row }));
        last = batch.at(-1)?.id ?? last;
        if (batch.length < ROWS_AT_ONCE) return;
      }
    };
    const unsubscribe = rows.onCommit(sendOn);
    response.on('drain', sendOn);
    sendOn();
    return unsubscribe;
  });
}
