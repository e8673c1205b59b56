import type { Response } from 'express';

/** One message of a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export interface StreamMessage {
  event?: string;
  id?: string | number;
  data: unknown;
}

/** Proxies and browsers close silent connections. A comment keeps the connection open. */
const HEARTBEAT_MS = 15_000;
/** A reader that is further behind is disconnected. It reconnects with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** The event that the app emits when the node is closed, so that streams end. */
export const CLOSING = 'closing';

/**
 * Opens a stream of server-sent events on a response. `subscribe` receives the send function and returns unsubscribe,
 * which is called when the reader disconnects. HEAD gets only the headers.
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
    // The node is closing. The reader gets this message when it reconnects.
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

/** An append-only table of numbered rows. */
export interface RowSource<Row extends { id: number }> {
  /** The number of the last row that the reader already has. */
  after: number;
  /** Returns up to `limit` rows after a number, in order. */
  read: (after: number, limit: number) => Row[];
  onCommit: (listener: () => void) => () => void;
}

const BATCH_ROWS = 100;

/**
 * Streams rows as they are committed, each once and in order. After every commit it reads the rows after the last one
 * sent. It waits for slow readers, so it never buffers more than a few rows.
 */
export function openRowStream<Row extends { id: number }>(response: Response, rows: RowSource<Row>): void {
  openEventStream(response, () => {
    let last = rows.after;
    const sendNewRows = () => {
      while (!response.writableNeedDrain && !response.writableEnded && !response.destroyed) {
        const batch = rows.read(last, BATCH_ROWS);
        for (const row of batch) response.write(textOf({ id: row.id, data: row }));
        last = batch.at(-1)?.id ?? last;
        if (batch.length < BATCH_ROWS) return;
      }
    };
    const unsubscribe = rows.onCommit(sendNewRows);
    response.on('drain', sendNewRows);
    sendNewRows();
    return unsubscribe;
  });
}
