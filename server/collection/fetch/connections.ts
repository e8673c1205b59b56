import { createHash, type X509Certificate } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from 'undici';
import {
  type Connection,
  MAX_CERTIFICATE_BYTES,
  MAX_CERTIFICATES,
  MAX_DNS_ADDRESSES,
} from '../../../shared/collection/retrieval.ts';
import { inBackground } from '../../runtime/background.ts';

/** The rules for opening and reusing a connection. */
export interface ConnectionRules {
  mayConnect: (address: string) => boolean;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  /** The SHA-256 of the certificate that the server must show, in place of one that the system trusts. */
  certificate?: string | undefined;
  signal: AbortSignal;
}

/** A connection to an origin. The first request opens it. */
export interface PooledConnection {
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
  readonly #idle = new Map<string, PooledConnection[]>();
  readonly keepAliveMs: number;
  #isClosed = false;

  constructor(keepAliveMs = KEEP_ALIVE_MS) {
    this.keepAliveMs = keepAliveMs;
  }

  /** Removes an idle connection that the rules allow from the pool and returns it; undefined if there is none. */
  acquire(origin: string, rules: ConnectionRules): PooledConnection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.findIndex(({ address, isOpen }) => isOpen && rules.mayConnect(address));
    const [connection] = index === -1 ? [] : idle.splice(index, 1);
    if (connection) connection.rules = rules;
    return connection;
  }

  /** Returns a connection to the pool. Its response must have been read completely. */
  async release(origin: string, connection: PooledConnection): Promise<void> {
    if (!connection.isOpen || this.#isClosed) return connection.client.destroy();
    connection.isUsed = true;
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    idle.push(connection);
    connection.onClosed = () => this.#remove(origin, connection);
  }

  #remove(origin: string, connection: PooledConnection): void {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.indexOf(connection);
    if (index === -1) return;
    idle.splice(index, 1);
    if (idle.length === 0) this.#idle.delete(origin);
    inBackground(() => connection.client.destroy());
  }

  /** Closes the idle connections. Connections in use are closed when they are released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(({ client }) => client.destroy()));
  }
}

/** What an open connection is recorded as, and the certificates that it names, by their SHA-256. */
export interface ConnectionFacts {
  /** Complete once the first response has begun. */
  record: () => Connection;
  certificates: ReadonlyMap<string, Buffer>;
}

/**
 * Reads the facts of a connection that was just opened. It is done once per connection, also if that carries many
 * responses.
 *
 * @param dns all addresses of the name; null if the URL has an IP address
 */
export function connectionFacts(socket: Socket, dns: readonly string[] | null): ConnectionFacts {
  const certificates = socket instanceof TLSSocket ? chainOf(socket) : new Map<string, Buffer>();
  const known: Omit<Connection, 'http'> = {
    address: socket.remoteAddress ?? '',
    dns: dns && dns.slice(0, MAX_DNS_ADDRESSES),
    port: socket.remotePort ?? 0,
    tls: socket instanceof TLSSocket ? tlsFacts(socket, certificates) : null,
  };
  let record: Connection = { ...known, http: null };
  onFirstBytes(socket, (text) => {
    const version = /^HTTP\/(\d\.\d)/.exec(text)?.[1];
    if (version !== undefined) record = { ...known, http: version };
  });
  return { record: () => record, certificates };
}

/** The bytes of a response that say its version, such as `HTTP/1.1`. */
const VERSION_BYTES = 8;

/**
 * Looks at the first bytes that arrive, in however many pieces, and leaves them to the HTTP client, which does not tell
 * their version.
 */
function onFirstBytes(socket: Socket, look: (text: string) => void): void {
  let seen = '';
  const onReadable = () => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    seen += bytes.toString('latin1', 0, VERSION_BYTES);
    if (seen.length >= VERSION_BYTES) {
      socket.off('readable', onReadable);
      look(seen);
    }
    socket.unshift(bytes);
  };
  socket.prependListener('readable', onReadable);
}

function tlsFacts(socket: TLSSocket, certificates: ReadonlyMap<string, Buffer>): Connection['tls'] {
  const { name, standardName } = socket.getCipher();
  return {
    certificates: [...certificates].map(([sha256, { length }]) => ({ bytes: length, sha256 })),
    cipher: standardName || name,
    version: socket.getProtocol() ?? '',
  };
}

/** Returns the server's certificate and those of its issuers. */
function chainOf(socket: TLSSocket): Map<string, Buffer> {
  const chain = new Map<string, Buffer>();
  let next: X509Certificate | undefined = socket.getPeerX509Certificate();
  for (; next && chain.size < MAX_CERTIFICATES; next = next.issuerCertificate) {
    const sha256 = createHash('sha256').update(next.raw).digest('hex');
    if (chain.has(sha256) || next.raw.length > MAX_CERTIFICATE_BYTES) break;
    chain.set(sha256, next.raw);
  }
  return chain;
}
