import type { IncomingMessage } from 'node:http';
import { isOrigin, ORIGIN_RULE } from '../../../shared/settings.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { isForwarded, lastForwardedFor } from './forwarded.ts';
import { parseHost } from './hostHeader.ts';
import { isLoopback, unmappedAddress } from './network.ts';

/** Where a request comes from. */
export interface Peer {
  /** The address that counts as the visitor's. */
  address: string;
  /** Whether it comes from a program on this machine that asks for itself. */
  loopback: boolean;
  /** Whether it came by the node's public address. */
  isPublic: boolean;
}

type Asked = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The public address as it was last read. */
interface Known {
  url: string;
  origin: string;
  name: string;
  port: string;
}

/**
 * The address that the world reaches the node by, through a proxy that ends TLS; there may be none. The proxy's own
 * connection comes from this machine or from the one machine that the owner trusts, and only from there a header is
 * believed that tells for whom it asks.
 */
export class PublicAddress {
  readonly #fixed: string | undefined;
  readonly #settings: Pick<SettingsStore, 'current'>;
  #known: Known | undefined;

  /** @param fixed goes before the setting. */
  constructor(fixed: string | undefined, settings: Pick<SettingsStore, 'current'>) {
    if (fixed !== undefined && !isOrigin(fixed))
      throw new Error(`${fixed} is no public address. ${ORIGIN_RULE}`);
    this.#fixed = fixed;
    this.#settings = settings;
  }

  /** Scheme, host and port, or undefined where the node has no public address. */
  get origin(): string | undefined {
    return this.#current?.origin;
  }

  get name(): string | undefined {
    return this.#current?.name;
  }

  /** Where a request comes from. Without a public address there is no proxy, and no header is believed. */
  peerOf({ headers, socket }: Asked): Peer {
    const address = unmappedAddress(socket.remoteAddress);
    const loopback = isLoopback(address);
    const known = this.#current;
    if (!known) return { address, loopback, isPublic: false };
    const isTrusted = loopback || address === this.#settings.current.trusted_proxy;
    const isByProxy = isTrusted && isForwarded(headers);
    const { name, port } = parseHost(headers.host);
    const isNamed = name === known.name;
    return {
      address: (isByProxy ? lastForwardedFor(headers) : undefined) ?? address,
      // What a proxy on this machine passes on is not asked for by this machine, whatever port it names.
      loopback: loopback && !isByProxy && !isNamed,
      isPublic: isByProxy || (isNamed && (port === '' || port === known.port)),
    };
  }

  /** The scheme, host and port that a request came by, for the links in its answer. */
  originOf(request: Asked): string {
    const known = this.#current;
    return known && this.peerOf(request).isPublic ? known.origin : `http://${request.headers.host}`;
  }

  /** Whether a cookie that is set now comes back over TLS alone. */
  isSecure(request: Asked): boolean {
    return this.originOf(request).startsWith('https:');
  }

  /** Whether a page of this origin is one of the node's own, for a request that came by that Host. */
  isOwnOrigin(origin: string, request: Asked): boolean {
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
