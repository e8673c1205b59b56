import type { Socket } from 'node:net';
import { Client, errors } from 'undici';
import { connector } from './connect.ts';
import { connectionFacts } from './connectionFacts.ts';
import type { Connection, ConnectionRules } from './connections.ts';

/** The maximum size of a response's headers. */
const MAX_HEADER_BYTES = 65_536;
/** Prepares a connection to an origin. The first request opens it. It closes after `keepAliveMs` without a request. */
export function openConnection(origin: string, rules: ConnectionRules, keepAliveMs: number): Connection {
  const onConnected = (socket: Socket) => {
    Object.assign(connection, { address: socket.remoteAddress ?? '', isOpen: true });
    socket.on('error', (error) => {
      // UndiciError only means that the client itself closed the connection.
      if (!(error instanceof errors.UndiciError)) connection.broken = error;
    });
  };
  const onReady = (socket: Socket, dns: string[] | null) => {
    connection.facts = connectionFacts(socket, dns);
  };
  const client = new Client(origin, {
    // Reads `connection.rules` late, so that a reconnect follows the rules of the request that causes it.
    connect: (options, callback) =>
      connector({ ...connection.rules, onConnected, onReady })(options, callback),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The caller enforces timeouts, because it measures the transfer rate.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
  });
  const connection: Connection = {
    client,
    rules,
    address: '',
    facts: undefined,
    broken: undefined,
    isOpen: false,
    isUsed: false,
    onClosed: () => {},
  };
  client.on('disconnect', () => {
    connection.isOpen = false;
    connection.onClosed();
  });
  return connection;
}
