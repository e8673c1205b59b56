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
  onFirstBytes(socket, (bytes) => {
    const version = /^HTTP\/(\d\.\d)/.exec(bytes.toString('latin1', 0, 8))?.[1];
    if (version !== undefined) record = { ...known, http: version };
  });
  return { record: () => record, certificates };
}

/** Looks at the first bytes that arrive, and leaves them to the HTTP client, which does not tell their version. */
function onFirstBytes(socket: Socket, look: (bytes: Buffer) => void): void {
  socket.prependOnceListener('readable', () => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    look(bytes);
    socket.unshift(bytes);
  });
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
