import { createHash, type X509Certificate } from 'node:crypto';
import { promises as dns, type LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import {
  type Connection,
  MAX_CERTIFICATE_BYTES,
  MAX_CERTIFICATES,
  MAX_DNS_ADDRESSES,
  type RetrievalError,
} from '../../../shared/collection/retrieval.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';

/** Resolves a name with the system resolver. Returns all addresses in the resolver's order. */
export function systemLookup(hostname: string): Promise<LookupAddress[]> {
  return dns.lookup(hostname, { all: true });
}

/** The delay before the next address of a name is tried. Node's default of 250 ms is too short for distant hosts. */
const NEXT_ADDRESS_AFTER_MS = 1_500;

/**
 * Opens a connection to an origin, with TLS for https. The name is resolved once, and no connection is made to an address
 * that the rules refuse: they are asked before connecting, and again for the actual remote address.
 *
 * @throws RetrievalFailure with its own reason for DNS, TCP and TLS; the signal's reason.
 */
export async function openConnection(
  { hostname: host, protocol, port }: URL,
  rules: ConnectionRules,
): Promise<{ socket: Socket; facts: KnownFacts }> {
  const hostname = host.replace(/^\[|\]$/g, '');
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
  const dns = isIP(hostname) ? null : resolved.map(({ address }) => address);
  const socket = secure ? await openTls(tcp, hostname, rules) : tcp;
  return { socket, facts: connectionFacts(socket, dns) };
}

async function openTls(tcp: Socket, hostname: string, rules: ConnectionRules): Promise<TLSSocket> {
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
  return tls;
}

function fingerprintOf(tls: TLSSocket): string | undefined {
  return tls.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase();
}

async function addressesOf(hostname: string, { lookup, signal }: ConnectionRules): Promise<LookupAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  try {
    return await lookup(hostname);
  } catch (error) {
    signal.throwIfAborted();
    throw new RetrievalFailure('dns_error', error);
  }
}

/** Waits for a socket to open. The error listener stays: an error may occur before the next listener is added. */
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

/** What an open connection is recorded as, and the certificates that it names, by their SHA-256. */
export interface ConnectionFacts {
  record: Connection;
  certificates: ReadonlyMap<string, Buffer>;
}

/** The facts of a connection before a response said its version. */
export interface KnownFacts {
  record: Omit<Connection, 'http'>;
  certificates: ReadonlyMap<string, Buffer>;
}

/**
 * Reads the facts of a connection that was just opened. It is done once per connection, also if that carries many
 * responses.
 *
 * @param dns all addresses of the name; null if the URL has an IP address
 */
function connectionFacts(socket: Socket, dns: readonly string[] | null): KnownFacts {
  const certificates = socket instanceof TLSSocket ? chainOf(socket) : new Map<string, Buffer>();
  const record = {
    address: socket.remoteAddress ?? '',
    dns: dns && dns.slice(0, MAX_DNS_ADDRESSES),
    port: socket.remotePort ?? 0,
    tls: socket instanceof TLSSocket ? tlsFacts(socket, certificates) : null,
  };
  return { record, certificates };
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
