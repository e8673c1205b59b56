import type { LookupAddress } from 'node:dns';
import type { Client } from 'undici';
import type { ConnectionFacts } from './connectionFacts.ts';

/** The rules for opening and reusing a connection. */
export interface ConnectionRules {
  mayConnect: (address: string) => boolean;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  /** The SHA-256 of the certificate that the server must show, in place of one that the system trusts. */
  certificate?: string | undefined;
  signal: AbortSignal;
}

/** A connection to an origin. The first request opens it. */
export interface Connection {
  client: Client;
  /** The rules of the current request. */
  rules: ConnectionRules;
  /** The remote IP address. */
  address: string;
  /** What is recorded of it; undefined until it is open. */
  facts: ConnectionFacts | undefined;
  /** The error that broke the connection; undefined if there is none. */
  broken: unknown;
  isOpen: boolean;
  /** Whether it has carried a complete response before. */
  isUsed: boolean;
  /** Called when either side closes it. */
  onClosed: () => void;
}

/** Shorter than the keep-alive timeout of any common server, so that a reused connection is rarely closed already. */
export const KEEP_ALIVE_MS = 250;

/**
 * Idle connections, kept briefly for the next request to the same origin. Opening a connection for each page often
 * costs more than the page itself.
 */
export class ConnectionPool {
  readonly #idle = new Map<string, Connection[]>();
  readonly keepAliveMs: number;
  #isClosed = false;

  constructor(keepAliveMs = KEEP_ALIVE_MS) {
    this.keepAliveMs = keepAliveMs;
  }

  /** Removes an idle connection that the rules allow from the pool and returns it; undefined if there is none. */
  acquire(origin: string, rules: ConnectionRules): Connection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.findIndex(({ address, isOpen }) => isOpen && rules.mayConnect(address));
    const [connection] = index === -1 ? [] : idle.splice(index, 1);
    if (connection) connection.rules = rules;
    return connection;
  }

  /** Returns a connection to the pool. Its response must have been read completely. */
  async release(origin: string, connection: Connection): Promise<void> {
    if (!connection.isOpen || this.#isClosed) return connection.client.destroy();
    connection.isUsed = true;
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    idle.push(connection);
    connection.onClosed = () => this.#remove(origin, connection);
  }

  #remove(origin: string, connection: Connection): void {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.indexOf(connection);
    if (index === -1) return;
    idle.splice(index, 1);
    if (idle.length === 0) this.#idle.delete(origin);
    void connection.client.destroy();
  }

  /** Closes the idle connections. Connections in use are closed when they are released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(({ client }) => client.destroy()));
  }
}
