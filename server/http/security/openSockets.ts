import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Problem } from '../../../shared/problems.ts';
import { after } from '../../runtime/background.ts';
import { STATUS_CODES } from '../../runtime/nodeHttp.ts';
import { problemDocument } from '../problems.ts';
import { isLoopback, unmappedAddress } from './addresses.ts';

/** The open connections of all servers of the node. */
export class OpenSockets {
  /** Each with its latest response. */
  readonly #sockets = new Map<Socket, ServerResponse | undefined>();
  /** TCP connections whose TLS handshake is not finished, by their remote address and port. */
  readonly #handshaking = new Map<string, Socket>();
  /** Connections from the network that are to be closed, because sharing has ended. */
  readonly #leaving = new Set<Socket>();
  readonly #stalled = new StalledReaders();

  /** Follows the connections of a server, and answers its requests. */
  follow(server: Server, listener: RequestListener, { isTls }: { isTls: boolean }): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#sockets.set(request.socket, response);
      listener(request, response);
    });
    answerMalformedRequests(server, (socket) => this.#sockets.get(socket as Socket));
    if (isTls) server.on('connection', (socket) => this.#followHandshake(socket));
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#handshaking.delete(peerName(socket));
      this.#sockets.set(socket, undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#leaving.delete(socket);
      });
    });
  }

  #followHandshake(socket: Socket): void {
    const name = peerName(socket);
    this.#handshaking.set(name, socket);
    socket.once('close', () => {
      if (this.#handshaking.get(name) === socket) this.#handshaking.delete(name);
    });
  }

  /**
   * Closes connections without a running response: those kept alive for a next request, those that browsers open in
   * advance, which Node does not count as idle, and those that have not finished their handshake.
   */
  closeIdle(): void {
    for (const [socket, response] of this.#sockets) if (response?.closed ?? true) socket.destroy();
    for (const socket of this.#handshaking.values()) socket.destroy();
  }

  /** Disconnects readers after this many checks without progress, because they occupy resources. */
  closeStalled(checks: number): void {
    for (const [socket, response] of this.#sockets) {
      if (this.#stalled.checksWithoutProgress(socket, response) >= checks) socket.destroy();
    }
  }

  /** Marks the connections from the network that exist now, for `closeLeaving`. */
  markLeaving(): void {
    for (const socket of this.#sockets.keys()) if (isFromNetwork(socket)) this.#leaving.add(socket);
  }

  closeLeaving(): void {
    for (const socket of this.#leaving) socket.destroy();
    this.#leaving.clear();
  }
}

function isFromNetwork(socket: Socket): boolean {
  return !isLoopback(unmappedAddress(socket.remoteAddress));
}

function peerName({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The libuv handle of a connection. Only it shows how much of a pending write the kernel has accepted. */
interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/**
 * Finds connections whose reader does not accept pending data. It compares how many bytes the kernel has accepted. So
 * heartbeats do not make a stalled reader look alive, and a reader that accepts a large chunk slowly is not stalled.
 * It counts checks instead of measuring time, because no reader makes progress while this process is blocked or the
 * machine sleeps.
 */
class StalledReaders {
  readonly #seen = new WeakMap<Socket, { accepted: number; checks: number }>();

  /** Checks a reader. Returns the number of consecutive checks without progress; 0 if nothing is pending. */
  checksWithoutProgress(socket: Socket, response: ServerResponse | undefined): number {
    const handle = (socket as { _handle?: Handle | null })._handle;
    if (!handle) return 0;
    const isPending = handle.writeQueueSize > 0 || socket.writableLength > 0 || hasBufferedData(response);
    const accepted = handle.bytesWritten - handle.writeQueueSize;
    const last = this.#seen.get(socket);
    const checks = isPending && last?.accepted === accepted ? last.checks + 1 : 0;
    this.#seen.set(socket, { accepted, checks });
    return checks;
  }
}

function hasBufferedData(response: ServerResponse | undefined): boolean {
  return response !== undefined && !response.closed && response.writableLength > 0;
}

/** A client that does not read its response is disconnected after this time. */
const MAX_WAIT_MS = 2000;

/**
 * Responds with a problem document to requests that are not valid HTTP and reach no route, then closes the connection.
 *
 * @param latestOn returns the latest response on a connection.
 */
function answerMalformedRequests(
  server: Server,
  latestOn: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A part of a response was sent already, or the client has disconnected.
    const latest = latestOn(socket);
    const isAnswering = latest?.closed === false && latest.headersSent;
    if (!socket.writable || error.code === 'ECONNRESET' || isAnswering) {
      socket.destroy(error);
      return;
    }
    const timer = after(MAX_WAIT_MS, () => socket.destroy());
    socket.once('error', () => socket.destroy()).once('close', () => clearTimeout(timer));
    // Incoming bytes are discarded. Closing with unread bytes would reset the connection and lose the response.
    socket.resume().end(responseTo(error));
  });
}

function responseTo(error: NodeJS.ErrnoException): string {
  const problem = problemOf(error);
  const body = JSON.stringify(problemDocument(problem));
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Connection: close',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem(
      'head_too_large',
      'The URL and the headers are longer than 16 KiB. Send a shorter request.',
    );
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('body_timeout', 'The request took too long to arrive.');
  return new Problem('invalid_request', 'This is not a valid HTTP request.');
}
