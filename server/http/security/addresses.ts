import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { isOrigin, ORIGIN_RULE } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { SettingsStore } from '../../store/settings.ts';

/** An address of this machine that is reachable from its networks. */
export interface MachineAddress {
  address: string;
  /** The name of its network interface. */
  interface: string;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether this process encrypts the connection of a request. */
export function isEncrypted({ socket }: { socket: object }): boolean {
  return (socket as { encrypted?: boolean }).encrypted === true;
}

/** The prefix of IPv4 addresses on a socket that listens for both families. */
const MAPPED = '::ffff:';

/** Normalizes an address of a socket: an IPv4 address mapped to IPv6 becomes IPv4. Empty if the socket is closed. */
export function unmappedAddress(address = ''): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

/** Returns whether the machine has this host name (in lowercase) or this address. */
export function isOwnHostname(name: string): boolean {
  const machine = hostname().toLowerCase();
  if (name === machine || name === `${machine}.local`) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address.split('%')[0]?.toLowerCase() === name),
  );
}

/** Returns the machine's addresses, IPv4 first. IPv6 link-local addresses are omitted: browsers cannot open them. */
export function machineAddresses(): MachineAddress[] {
  const found = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address))
      .map(({ address }) => ({ address, interface: name })),
  );
  return found.sort(
    (left, right) => Number(left.address.includes(':')) - Number(right.address.includes(':')),
  );
}

/** Returns the names and addresses at which this machine can be reached. */
export function machineNames(): string[] {
  const machine = hostname().toLowerCase();
  const names = /^[a-z0-9.-]+$/.test(machine) ? [machine, `${machine.replace(/\.local$/, '')}.local`] : [];
  const addresses = machineAddresses().map(({ address }) => address);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...names, ...addresses])];
}

/** Returns the URL of a host and port. */
export function urlOf(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A parsed Host header: the host in lowercase without brackets, and the port, which may be empty. */
interface ParsedHost {
  name: string;
  port: string;
  /** The host and port as URLs have them; empty if the header is refused. */
  host: string;
}

const NONE: ParsedHost = { name: '', port: '', host: '' };

// Cached, because most requests have the same Host header and parsing it costs as much as routing the request.
let last: { host: string | undefined; named: ParsedHost } = { host: undefined, named: NONE };

/** Parses a Host header. The result is empty if it is anything else than `name`, `name:port`, `[v6]` or `[v6]:port`. */
export function parseHost(host: string | undefined): ParsedHost {
  if (host !== last.host) last = { host, named: parse(host) };
  return last.named;
}

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port. */
const HOST = /^(?:([a-z\d](?:[a-z\d._-]{0,252}))|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

function parse(host = ''): ParsedHost {
  const [isHost, given] = HOST.exec(host) ?? [];
  const url = isHost === undefined ? null : URL.parse(`http://${host}`);
  // Other forms of IPv4 addresses, such as 2130706433, are refused.
  if (url === null || (given !== undefined && given.toLowerCase() !== url.hostname)) return NONE;
  const { hostname, port } = url;
  return {
    name: hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''),
    port,
    host: `${hostname}${/:\d+$/.exec(host)?.[0] ?? ''}`,
  };
}

const ABSOLUTE = Symbol('absolute');
type Targeted = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'> & { [ABSOLUTE]?: true };

/**
 * Converts a request target in absolute form (RFC 9112, section 3.2.2) to origin form if it names the same host as the
 * Host header. Other targets are left unchanged, and `requireSingleHost` refuses them.
 */
export function normalizeRequestTarget(next: RequestListener): RequestListener {
  return (request: Parameters<RequestListener>[0] & Targeted, response) => {
    const { url = '' } = request;
    if (!url.startsWith('/')) {
      const target = URL.parse(url);
      if (target?.host && target.host === URL.parse(`${target.protocol}//${request.headers.host}`)?.host) {
        request[ABSOLUTE] = true;
        request.url = target.pathname + target.search;
      }
    }
    next(request, response);
  };
}

/** Returns whether a request target was in absolute form and named the same host as the Host header. */
export function hadAbsoluteTarget(request: Targeted): boolean {
  return request[ABSOLUTE] === true;
}

/**
 * Refuses requests without exactly one, unambiguous host. Otherwise a proxy and this node could disagree about it. This
 * includes HTTP/1.0, where Host is optional.
 *
 * @throws Problem `invalid_request`
 */
export function requireSingleHost({ url = '', headers, rawHeaders }: Targeted): void {
  if (headers.host === undefined) throw invalid('The Host header is missing. Send exactly one.');
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalid('There are several Host headers. Send exactly one.');
  if (!url.startsWith('/') && url !== '*') throw foreignTarget();
}

/** Returns the problem for a request target that names another host. */
export function foreignTarget(): Problem {
  return invalid(
    'The request line names another host. Send only the path there, and the host in the Host header.',
  );
}

/** Returns the problem for a Host header that does not name this node. */
export function unknownHost(): Problem {
  return new Problem(
    'unknown_host',
    'The Host header does not name this node. Use one of the node’s own addresses.',
  );
}

function invalid(detail: string): Problem {
  return new Problem('invalid_request', detail);
}

/** The origin of a request. */
interface Peer {
  /** The IP address of the client. */
  address: string;
  /** Whether the client runs on this machine and no proxy is involved. */
  loopback: boolean;
  /** Whether the request used the node's public address. */
  isPublic: boolean;
}

type RequestInfo = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The parsed public address. */
interface Known {
  url: string;
  origin: string;
  name: string;
  port: string;
}

/**
 * The optional public address of the node behind a proxy that terminates TLS. The proxy connects from this machine or
 * from the address in `trusted_proxy`. Only connections from there may report the client's address in a header.
 */
export class PublicAddress {
  readonly #fixed: string | undefined;
  readonly #settings: Pick<SettingsStore, 'current'>;
  #known: Known | undefined;

  /** @param fixed overrides the setting `public_url`. */
  constructor(fixed: string | undefined, settings: Pick<SettingsStore, 'current'>) {
    if (fixed !== undefined && !isOrigin(fixed))
      throw new Error(`${fixed} is not a valid public address. ${ORIGIN_RULE}`);
    this.#fixed = fixed;
    this.#settings = settings;
  }

  /** The scheme, host and port; undefined if the node has no public address. */
  get origin(): string | undefined {
    return this.#current?.origin;
  }

  get name(): string | undefined {
    return this.#current?.name;
  }

  /** Returns the origin of a request. Without a public address there is no proxy, and headers are ignored. */
  peerOf({ headers, socket }: RequestInfo): Peer {
    const address = unmappedAddress(socket.remoteAddress);
    const loopback = isLoopback(address);
    const known = this.#current;
    if (!known) return { address, loopback, isPublic: false };
    const isTrusted = loopback || address === this.#settings.current.trusted_proxy;
    const isProxied = isTrusted && isForwarded(headers);
    const { name, port } = parseHost(headers.host);
    const isNamed = name === known.name;
    return {
      address: (isProxied ? lastForwardedFor(headers) : undefined) ?? address,
      // A request to the public name came through a proxy on this machine, even if that sets no header.
      loopback: loopback && !isProxied && !isNamed,
      isPublic: isProxied || (isNamed && (port === '' || port === known.port)),
    };
  }

  /**
   * Returns the scheme, host and port that a request used, for links in its response. It is the visitor's choice: nothing
   * that is kept, signed or sealed may depend on it.
   *
   * @throws Problem `unknown_host` if the request names no host in a form that is accepted
   */
  originOf(request: RequestInfo): string {
    const known = this.#current;
    if (known && this.peerOf(request).isPublic) return known.origin;
    const { host } = parseHost(request.headers.host);
    if (host === '') throw unknownHost();
    return new URL(`${isEncrypted(request) ? 'https' : 'http'}://${host}`).origin;
  }

  /** Returns whether cookies in the response should have the Secure attribute. */
  isSecure(request: RequestInfo): boolean {
    return this.originOf(request).startsWith('https:');
  }

  /** Returns whether an origin is the node's own: its public address, or the host of the request. */
  isOwnOrigin(origin: string, request: RequestInfo): boolean {
    return origin === this.#current?.origin || origin === this.originOf(request);
  }

  get #current(): Known | undefined {
    const url = this.#fixed ?? this.#settings.current.public_url;
    if (url === '') return undefined;
    if (this.#known?.url !== url) this.#known = readUrl(url);
    return this.#known;
  }
}

function readUrl(url: string): Known {
  const { origin, hostname, port, protocol } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return { url, origin, name, port: port || (protocol === 'https:' ? '443' : '80') };
}

/** Returns whether a proxy forwarded the request. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
}

/**
 * Returns the client address reported by the last proxy, in `X-Forwarded-For` or `Forwarded` (RFC 7239). Earlier entries
 * are ignored, because the client can forge them. Returns undefined if the entry is not an address, or if both headers
 * are present and differ: then the client sent one of them.
 */
function lastForwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const { 'x-forwarded-for': list, forwarded } = headers;
  const reported: (string | undefined)[] = [];
  if (list !== undefined) reported.push(addressOf(lastOf(String(list))));
  if (forwarded !== undefined) {
    const pair = lastOf(forwarded)
      .split(';')
      .find((each) => /^\s*for\s*=/i.test(each));
    reported.push(addressOf(pair?.slice(pair.indexOf('=') + 1)));
  }
  return reported.every((each) => each === reported[0]) ? reported[0] : undefined;
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1);
}

/** Parses an address with or without quotes, brackets and a port. */
function addressOf(text = ''): string | undefined {
  const plain = text.trim().replace(/^"(.*)"$/, '$1');
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(plain)?.[1] ?? plain.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address.toLowerCase();
}
