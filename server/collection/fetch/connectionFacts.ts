import { createHash, type X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  type Connection,
  MAX_CERTIFICATE_BYTES,
  MAX_CERTIFICATES,
  MAX_DNS_ADDRESSES,
} from '../../../shared/collection/connection.ts';

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
