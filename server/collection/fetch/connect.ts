import { promises as dns, type LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { networkErrorCode, RetrievalFailure } from './failure.ts';

/** The rules for opening a connection. */
export interface ConnectRules {
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
    void callBack(openConnection(hostname.replace(/^\[|\]$/g, ''), protocol, port, rules), callback);
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
    throw new RetrievalFailure('tls_error', new Error('The server shows another certificate.'));
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
