import { createHash, type X509Certificate } from 'node:crypto';
import { promises as dns, type LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import type { buildConnector, Client } from 'undici';
import {
  type Connection,
  MAX_CERTIFICATE_BYTES,
  MAX_CERTIFICATES,
  MAX_DNS_ADDRESSES,
  type RetrievalError,
} from '../../../shared/collection/retrieval.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { inBackground } from '../../runtime/background.ts';

/** The rules for opening a connection. */
interface ConnectRules {
  /** Whether connections to an address are allowed. Checked before connecting, and again for the actual remote address. */
  mayConnect: (address: string) => boolean;
  /** Called when the TCP connection is established. */
  onConnected: (socket: Socket) => void;
  /**
   * Called when the connection is ready for a request, with TLS if it has it.
   *
   * @param dns all addresses that the name has; null if the URL has an IP address
   */
  onReady: (socket: Socket, dns: string[] | null) => void;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  /** The SHA-256 of the certificate that the server must show, in place of one that the system trusts. */
  certificate?: string | undefined;
  signal: AbortSignal;
}

/** Resolves a name with the system resolver. Returns all addresses in the resolver's order. */
export function systemLookup(hostname: string): Promise<LookupAddress[]> {
  return dns.lookup(hostname, { all: true });
}

/**
 * Returns the function with which the HTTP client opens connections. DNS, TCP and TLS failures have different error
 * codes. The name is resolved once per connection, and no connection is made to an address that the rules refuse.
 */
export function connector(rules: ConnectRules): buildConnector.connector {
  return ({ hostname, protocol, port }, callback) => {
    const opening = openConnection(hostname.replace(/^\[|\]$/g, ''), protocol, port, rules);
    inBackground(() => callBack(opening, callback));
  };
}

async function callBack(
  opening: Promise<Socket | TLSSocket>,
  callback: buildConnector.Callback,
): Promise<void> {
  let socket: Socket | TLSSocket;
  try {
    socket = await opening;
  } catch (error) {
    return callback(error instanceof Error ? error : new Error(String(error)), null);
  }
  callback(null, socket);
}

/** The delay before the next address of a name is tried. Node's default of 250 ms is too short for distant hosts. */
const NEXT_ADDRESS_AFTER_MS = 1_500;

async function openConnection(
  hostname: string,
  protocol: string,
  port: string,
  rules: ConnectRules,
): Promise<Socket | TLSSocket> {
  const resolved = await addressesOf(hostname, rules);
  const addresses = resolved.filter(({ address }) => rules.mayConnect(address));
  if (addresses.length === 0) throw new RetrievalFailure('redirect_refused');
  const secure = protocol === 'https:';
  const tcp = connectTcp({
    host: hostname,
    port: Number(port) || (secure ? 443 : 80),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    noDelay: true,
    lookup: (_hostname, _options, answer) => answer(null, addresses),
  });
  await opened(tcp, 'connect', rules.signal, tcpFailure);
  if (!rules.mayConnect(tcp.remoteAddress ?? '')) {
    tcp.destroy();
    throw new RetrievalFailure('redirect_refused');
  }
  rules.onConnected(tcp);
  const dns = isIP(hostname) ? null : resolved.map(({ address }) => address);
  if (!secure) {
    rules.onReady(tcp, dns);
    return tcp;
  }
  const servername = isIP(hostname) ? undefined : hostname;
  const rejectUnauthorized = rules.certificate === undefined;
  const tls = connectTls({
    socket: tcp,
    host: hostname,
    servername,
    rejectUnauthorized,
    ALPNProtocols: ['http/1.1'],
  });
  await opened(tls, 'secureConnect', rules.signal, (error) => new RetrievalFailure('tls_error', error));
  if (!rejectUnauthorized && fingerprintOf(tls) !== rules.certificate) {
    tls.destroy();
    throw new RetrievalFailure('tls_error', new Error('The server presents a different certificate.'));
  }
  rules.onReady(tls, dns);
  return tls;
}

function fingerprintOf(tls: TLSSocket): string | undefined {
  return tls.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase();
}

async function addressesOf(hostname: string, { lookup, signal }: ConnectRules): Promise<LookupAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  try {
    return await lookup(hostname);
  } catch (error) {
    signal.throwIfAborted();
    throw new RetrievalFailure('dns_error', error);
  }
}

/** Waits for a socket to open. The error listener stays, because an error may occur before the client adds its own. */
function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
  failure: (error: unknown) => RetrievalFailure,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const settle = () => signal.removeEventListener('abort', abort);
    socket.once(event, () => {
      settle();
      resolve();
    });
    socket.once('close', () => {
      settle();
      reject(failure(new Error('The connection was closed.')));
    });
    socket.on('error', (error) => {
      settle();
      reject(failure(error));
    });
  });
}

function tcpFailure(error: unknown): RetrievalFailure {
  const code = networkErrorCode(error);
  if (code === 'ECONNREFUSED') return new RetrievalFailure('connection_refused', error);
  if (code === 'ETIMEDOUT') return new RetrievalFailure('timeout', error);
  if (/^(EHOST|ENET|EADDRNOTAVAIL|EACCES|EINVAL)/.test(code))
    return new RetrievalFailure('host_unreachable', error);
  return new RetrievalFailure('connection_reset', error);
}

const { IPv4, IPv6, parse } = ipaddr;

/**
 * Networks that are not of the public internet (IANA's special-purpose registries). The list is ours, not the library's
 * `range()`, because that calls networks for documentation reserved, too, and a change of it would change what a node
 * connects to.
 */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((network) => IPv4.parseCIDR(network));
const PRIVATE_V6 = [
  '::/128',
  '::1/128',
  // For translation within one network (RFC 8215), for discarding, and Teredo, which leads to whatever IPv4 it carries.
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].map((network) => IPv6.parseCIDR(network));

/** IPv6 networks whose addresses carry an IPv4 address, and the byte at which it begins. */
const CARRIERS = [
  { network: IPv6.parseCIDR('::/96'), at: 12 },
  { network: IPv6.parseCIDR('::ffff:0:0/96'), at: 12 },
  { network: IPv6.parseCIDR('::ffff:0:0:0/96'), at: 12 },
  { network: IPv6.parseCIDR('64:ff9b::/32'), at: 12 },
  { network: IPv6.parseCIDR('2002::/16'), at: 2 },
] as const;

/**
 * Whether an address is private, loopback, link-local or otherwise not of the public internet. IPv6 addresses that carry
 * an IPv4 address (mapped, compatible, translated, NAT64, 6to4) are judged by it. What is no address is not public.
 */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  // The library also reads addresses with fewer or with octal parts, which `isIP` refuses.
  if (isIP(bare) === 0) return true;
  const parsed = parse(bare);
  return parsed instanceof IPv4 ? isPrivateV4(parsed) : isPrivateV6(parsed);
}

function isPrivateV4(address: ipaddr.IPv4): boolean {
  return PRIVATE_V4.some((network) => address.match(network));
}

function isPrivateV6(address: ipaddr.IPv6): boolean {
  if (PRIVATE_V6.some((network) => address.match(network))) return true;
  const carrier = CARRIERS.find(({ network }) => address.match(network));
  if (carrier === undefined) return false;
  return isPrivateV4(new IPv4(address.toByteArray().slice(carrier.at, carrier.at + 4)));
}

/** An attempt that yielded no object. `reason` is the error code that is recorded. */
export class RetrievalFailure extends Error {
  readonly reason: RetrievalError;

  constructor(reason: RetrievalError, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'RetrievalFailure';
    this.reason = reason;
  }
}

/** Returns the `code` of a system, DNS, TLS or HTTP client error, or an empty string. Of several errors, the first counts. */
function networkErrorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return networkErrorCode(error.errors[0]);
  return errorCode(error) ?? '';
}

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
