import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem } from '../../../shared/problems.ts';
import { problemDocument } from '../problems.ts';

/** A client that does not take its answer is cut off after this. */
const MAX_WAIT_MS = 2000;

/**
 * Answers what is no HTTP request, and so reaches no route, with a problem document too; then hangs up.
 *
 * @param latestOn the answer that was begun last on a connection
 */
export function answerMalformedRequests(
  server: Server,
  latestOn: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Half an answer is out, or nobody is there to take one.
    const latest = latestOn(socket);
    const isAnswering = latest?.closed === false && latest.headersSent;
    if (!socket.writable || error.code === 'ECONNRESET' || isAnswering) {
      socket.destroy(error);
      return;
    }
    const timer = setTimeout(() => socket.destroy(), MAX_WAIT_MS);
    socket.once('error', () => socket.destroy()).once('close', () => clearTimeout(timer));
    // What still comes is thrown away: closing on unread bytes would reset the connection and lose the answer.
    socket.resume().end(answerTo(error));
  });
}

function answerTo(error: NodeJS.ErrnoException): string {
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
    return new Problem('head_too_large', 'The address and the headers are longer than 16 KiB. Ask for less.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('body_timeout', 'The request took too long to arrive.');
  return new Problem('invalid_request', 'This is not a request as HTTP has it.');
}
