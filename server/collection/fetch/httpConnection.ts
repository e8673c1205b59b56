import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { after } from '../../runtime/background.ts';
import { type ConnectionRules, type KnownFacts, openConnection } from './connect.ts';
import { ByteSource } from './httpMessage.ts';

/** What is received is held up to here, then the server has to wait. */
const MAX_HELD_BYTES = 65_536;

/** An open connection over which one request after the other is sent. */
export class HttpConnection {
  readonly facts: KnownFacts;
  /** What the server sends. */
  readonly source: ByteSource;
  /** Whether it has carried a complete response before. */
  isUsed = false;
  /** Called when either side closes it. */
  onClosed: () => void = () => {};
  readonly #socket: Socket;
  readonly #received: Received;

  /** @throws RetrievalFailure; the signal's reason */
  static async open(url: URL, rules: ConnectionRules): Promise<HttpConnection> {
    const { socket, facts } = await openConnection(url, rules);
    return new HttpConnection(socket, facts);
  }

  private constructor(socket: Socket, facts: KnownFacts) {
    this.facts = facts;
    this.#socket = socket;
    this.#received = new Received(socket);
    this.source = new ByteSource(this.#received);
    socket.on('close', () => this.onClosed());
  }

  /** The remote IP address. */
  get address(): string {
    return this.facts.record.address;
  }

  /** Whether it is open, and the server sent nothing that nobody asked for. */
  get isIdle(): boolean {
    return this.#socket.writable && this.#received.isEmpty && !this.source.hasMore;
  }

  /** Sends a request. @throws what the body throws; the socket's error */
  async send(head: string, body: Uint8Array | Readable | undefined): Promise<void> {
    // One packet for a small request.
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    if (body instanceof Uint8Array) this.#socket.write(body);
    this.#socket.uncork();
    if (body === undefined || body instanceof Uint8Array) return;
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (this.#socket.destroyed) return;
      if (!this.#socket.write(chunk)) await this.#drained();
    }
  }

  async #drained(): Promise<void> {
    const closed = new AbortController();
    const onClose = () => closed.abort();
    this.#socket.once('close', onClose);
    try {
      await once(this.#socket, 'drain', { signal: closed.signal });
    } catch (error) {
      // Whoever reads the response learns why it was closed.
      if (!closed.signal.aborted) throw error;
    } finally {
      this.#socket.off('close', onClose);
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The bytes that a socket received, in order, and then its error if it broke: also after bytes that nobody read yet. */
class Received implements AsyncIterator<Uint8Array> {
  readonly #socket: Socket;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #end: { error: Error | undefined } | undefined;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= MAX_HELD_BYTES) socket.pause();
      this.#wake();
    });
    socket.on('end', () => this.#finish(undefined));
    socket.on('error', (error) => this.#finish(error));
    socket.on('close', () => this.#finish(new Error('The connection was closed.')));
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0 && this.#end === undefined;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#bytes -= chunk.length;
        if (this.#socket.isPaused() && this.#bytes < MAX_HELD_BYTES) this.#socket.resume();
        return { done: false, value: chunk };
      }
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #finish(error: Error | undefined): void {
    this.#end ??= { error };
    this.#wake();
  }
}

/** Shorter than the keep-alive timeout of any common server, so that a reused connection is rarely closed already. */
export const KEEP_ALIVE_MS = 250;

/**
 * Idle connections, kept briefly for the next request to the same origin. Opening a connection for each page often
 * costs more than the page itself.
 */
export class ConnectionPool {
  readonly #idle = new Map<string, { connection: HttpConnection; timer: NodeJS.Timeout }[]>();
  readonly keepAliveMs: number;
  #isClosed = false;

  constructor(keepAliveMs = KEEP_ALIVE_MS) {
    this.keepAliveMs = keepAliveMs;
  }

  /** Removes an idle connection that the rules allow from the pool and returns it; undefined if there is none. */
  acquire(origin: string, rules: ConnectionRules): HttpConnection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    const found = idle.find(
      ({ connection }) => connection.isIdle && rules.mayConnect(connection.address),
    )?.connection;
    if (found) this.#remove(origin, found);
    return found;
  }

  /** Returns a connection to the pool. Its response must have been read completely. */
  release(origin: string, connection: HttpConnection): void {
    if (!connection.isIdle || this.#isClosed) return connection.close();
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    const timer = after(this.keepAliveMs, () => connection.close());
    idle.push({ connection, timer });
    connection.onClosed = () => this.#remove(origin, connection);
  }

  #remove(origin: string, connection: HttpConnection): void {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.findIndex((one) => one.connection === connection);
    if (index === -1) return;
    clearTimeout(idle[index]?.timer);
    connection.onClosed = () => {};
    idle.splice(index, 1);
    if (idle.length === 0) this.#idle.delete(origin);
  }

  /** Closes the idle connections. Connections in use are closed when they are released. */
  close(): void {
    this.#isClosed = true;
    for (const { connection } of [...this.#idle.values()].flat()) connection.close();
  }
}
