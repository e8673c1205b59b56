import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import type { TlsIdentity } from '../../owner/tls/certificate.ts';
import { createServer, createTlsServer } from '../../runtime/nodeHttp.ts';

/** The time that running requests have to finish when the node is closed. */
const CLOSE_GRACE_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 30_000;

/** Returns a server for HTTP, or for HTTPS if there is a certificate. It does not listen yet. */
export function newServer(identity: TlsIdentity | undefined): Server {
  // The guards refuse requests without Host, with a problem document.
  const options = { requestTimeout: 1_800_000, headersTimeout: 30_000, requireHostHeader: false };
  if (!identity) return createServer(options);
  return createTlsServer({
    ...options,
    key: identity.key,
    cert: identity.certificate,
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  });
}

export async function startListening(server: Server, host: string, port: number): Promise<Server> {
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

/** The servers at one address. */
export interface AddressServers {
  http: Server;
  https?: Server;
}

export function serversOf({ http, https }: AddressServers): Server[] {
  return https ? [http, https] : [http];
}

export function stopAll(opened: AddressServers): void {
  for (const server of serversOf(opened)) stopListening(server);
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Returns the problem for a port that cannot be opened, or the error itself if it has another cause. */
export function portTaken(error: unknown, port: number, address: string): unknown {
  const code = errorCode(error);
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  return new Problem(
    'port_taken',
    `Another program uses port ${port} on ${address}, so the network cannot reach this node. Stop that program, or start the node on another port.`,
    { cause: error },
  );
}

/** Stops accepting connections and releases the port. Open connections are kept. */
export function stopListening(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
