import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isOrigin, ORIGIN_RULE } from '../../../shared/node/settings.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { isEncrypted, isLoopback, parseHost, unmappedAddress } from './machineAddresses.ts';

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

  /** Returns the scheme, host and port that a request used, for links in the response. */
  originOf(request: RequestInfo): string {
    const known = this.#current;
    return known && this.peerOf(request).isPublic
      ? known.origin
      : `${isEncrypted(request) ? 'https' : 'http'}://${request.headers.host}`;
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
