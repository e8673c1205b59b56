import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';

/** A received request. */
export interface SeenRequest {
  method: string;
  path: string;
  /** By name in lower case. */
  headers: Record<string, string>;
}

/** Responds to one request by writing to its socket, and ends the connection. */
export type Step = (socket: Socket, request: SeenRequest) => void | Promise<void>;

export interface PageOptions {
  status?: number;
  headers?: Record<string, string>;
}

/** The certificate of the TLS servers; only tests that add it trust it. */
export const LOOPBACK_CERTIFICATE = readFixture('loopback.cert.pem');

function readFixture(name: string): string {
  return readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8');
}

const opened: ScriptedWeb[] = [];

/**
 * A web server that follows a script for each path, valid or not. The first step responds to the first request, and so on;
 * the last step responds to all further requests. A path without a script returns 404.
 */
export class ScriptedWeb {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #host: string;
  readonly #scripts = new Map<string, Step[]>();
  /** The received requests by path. */
  readonly #seen = new Map<string, SeenRequest[]>();
  readonly #sockets = new Set<Socket>();
  readonly #news = new EventEmitter();

  private constructor(secure: boolean, host: string) {
    this.#scheme = secure ? 'https' : 'http';
    this.#host = host;
    const serve = (socket: Socket) => this.#serve(socket);
    this.#server = secure
      ? createTlsServer({ key: readFixture('loopback.key.pem'), cert: LOOPBACK_CERTIFICATE }, serve)
      : createServer(serve);
  }

  /** Starts a server on a free port; `closeScriptedWebs` closes it. */
  static async open({ host = '127.0.0.1', secure = false, port = 0 } = {}): Promise<ScriptedWeb> {
    const web = new ScriptedWeb(secure, host);
    web.#server.listen(port, host);
    await once(web.#server, 'listening');
    opened.push(web);
    return web;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string, host = this.#host): string {
    return `${this.#scheme}://${host.includes(':') ? `[${host}]` : host}:${this.port}${path}`;
  }

  /** Sets the script of a path. */
  script(path: string, ...steps: Step[]): void {
    this.#scripts.set(path, steps);
  }

  requests(path: string): SeenRequest[] {
    return [...(this.#seen.get(path) ?? [])];
  }

  /** The number of requests for any path so far. */
  get requestCount(): number {
    return [...this.#seen.values()].reduce((sum, requests) => sum + requests.length, 0);
  }

  /** Resolves when the path was requested this many times in total. */
  async asked(path: string, times = 1): Promise<void> {
    while (this.requests(path).length < times) await once(this.#news, 'request');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // Many scripts make the client give up.
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      const request = parseHead(head);
      head = '';
      const seen = this.#seen.get(request.path);
      if (seen) seen.push(request);
      else this.#seen.set(request.path, [request]);
      this.#news.emit('request');
      const script = this.#scripts.get(request.path) ?? [page('Not here.', { status: 404 })];
      const step = script.length > 1 ? script.shift() : script[0];
      void step?.(socket, request);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** For `afterEach`: closes all servers. */
export async function closeScriptedWebs(): Promise<void> {
  for (const web of opened.splice(0)) await web.close();
}

/** Returns a URL with a port on which nothing listens: that of a server that was closed. */
export async function unreachableUrl(path = '/', host = '127.0.0.1'): Promise<string> {
  const web = await ScriptedWeb.open({ host });
  const url = web.url(path);
  opened.splice(opened.indexOf(web), 1);
  await web.close();
  return url;
}

function parseHead(head: string): SeenRequest {
  const [first = '', ...lines] = head.slice(0, head.indexOf('\r\n\r\n')).split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { method, path, headers };
}

function headOf(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join('')}Connection: close\r\n\r\n`;
}

/** A complete, valid response. */
export function page(body: string | Buffer, { status = 200, headers = {} }: PageOptions = {}): Step {
  const bytes = Buffer.from(body);
  return (socket) => {
    socket.write(
      headOf(status, { 'Content-Type': 'text/html', 'Content-Length': String(bytes.length), ...headers }),
      'latin1',
    );
    socket.end(bytes);
  };
}

export function redirect(to: string, status = 302): Step {
  return page('', { status, headers: { Location: to } });
}

/** A page with an ETag. A request with this ETag gets 304. */
export function tagged(body: string, etag: string): Step {
  return (socket, request) =>
    request.headers['if-none-match'] === etag
      ? page('', { status: 304, headers: { ETag: etag } })(socket, request)
      : page(body, { headers: { ETag: etag } })(socket, request);
}

/** A complete response with a chunked body. */
export function chunked(chunks: readonly string[]): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }));
    for (const chunk of chunks) socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
    socket.end('0\r\n\r\n');
  };
}

/** Sends exactly these bytes and ends the connection. */
export function raw(text: string): Step {
  return (socket) => void socket.end(text, 'latin1');
}

/** A response whose body is shorter than its `Content-Length`. */
export function cutShort(declared: number, sent: string): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Content-Length': String(declared) }));
    socket.end(sent);
  };
}

/** A chunked response without the final chunk. */
export function cutChunks(sent: string): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Transfer-Encoding': 'chunked' }));
    socket.end(`${Buffer.byteLength(sent).toString(16)}\r\n${sent}\r\n`);
  };
}

/** Resets the connection, before the response or after its header. */
export function reset({ afterHead = false } = {}): Step {
  return (socket) => {
    if (!afterHead) return void socket.resetAndDestroy();
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Content-Length': '100' }), () =>
      socket.resetAndDestroy(),
    );
  };
}

/** Never responds. */
export const silence: Step = () => {};

/** Sends the header and one byte, and then nothing. */
export const stall: Step = (socket) => {
  socket.write(`${headOf(200, { 'Content-Type': 'text/html', 'Content-Length': '1000000' })}x`);
};

/** Sends an endless body without a length, as fast as the client reads. */
export function endless(part: string): Step {
  const piece = part.repeat(Math.ceil(65_536 / part.length));
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/plain' }));
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
}
