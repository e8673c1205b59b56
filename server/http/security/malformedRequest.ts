import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem } from '../../../shared/problems.ts';
import { STATUS_CODES } from '../../runtime/nodeHttp.ts';
import { problemDocument } from '../problems.ts';

/** A client that does not read its response is disconnected after this time. */
const MAX_WAIT_MS = 2000;

/**
 * Responds with a problem document to requests that are not valid HTTP and reach no route, then closes the connection.
 *
 * @param latestOn returns the latest response on a connection.
 */
export function answerMalformedRequests(
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
    const timer = setTimeout(() => socket.destroy(), MAX_WAIT_MS);
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
