import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MEBIBYTE } from '../../../shared/limits.ts';

/*
 * A web server to be watched: `node web.ts <bytes>` prints its port and serves pages of this size. All pages differ and
 * have an ETag; a request with the ETag gets 304. `/large` is an object of 100 MiB; there is no robots.txt. The server
 * does as little as possible, so that its clients are measured.
 */

const bytes = Number(process.argv[2]);
const FILLER = Buffer.alloc(bytes, 'The sea was measured here again, and stood as high as before.\n');
const LARGE_PIECE = Buffer.alloc(MEBIBYTE, 'l');
const LARGE_PIECES = 100;

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (path === '/robots.txt') return void response.writeHead(404, { 'Content-Length': 0 }).end();
  if (path === '/large') return sendLarge(response);
  sendPage(path, request, response);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));

function sendPage(path: string, request: IncomingMessage, response: ServerResponse): void {
  const etag = `"${path.slice(1)}"`;
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { ETag: etag }).end();
  const page = Buffer.from(FILLER);
  page.write(`<!doctype html><title>Report ${path.slice(1)}</title>\n`);
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': bytes,
    ETag: etag,
  });
  response.end(page);
}

function sendLarge(response: ServerResponse): void {
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': LARGE_PIECES * MEBIBYTE,
  });
  let left = LARGE_PIECES;
  const send = (): void => {
    while (left > 0) {
      left -= 1;
      if (!response.write(LARGE_PIECE)) return void response.once('drain', send);
    }
    response.end();
  };
  send();
}
