import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';

/** A request as it came. */
export interface SeenRequest {
  method: string;
  path: string;
  /** By lowercase name. */
  headers: Record<string, string>;
}

/** Answers one request, byte by byte if it likes, and ends the connection. */
export type Step = (socket: Socket, request: SeenRequest) => void | Promise<void>;

export interface PageOptions {
  status?: number;
  headers?: Record<string, string>;
}

/** The certificate that the TLS servers show; nobody trusts it unless a test says so. */
export const LOOPBACK_CERTIFICATE = readFixture('loopback.cert.pem');

function readFixture(name: string): string {
  return readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8');
}

const opened: ScriptedWeb[] = [];

/**
 * A web server that does exactly what each path's script says, rightly or wrongly: the first step answers the first
 * request, the last one all that follow. A path without a script answers 404.
 */
export class ScriptedWeb {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #host: string;
  readonly #scripts = new Map<string, Step[]>();
  readonly #seen: SeenRequest[] = [];
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

  /** Opens a web on a free port; `closeScriptedWebs` closes it. */
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

  /** From now on the path follows this script. */
  script(path: string, ...steps: Step[]): void {
    this.#scripts.set(path, steps);
  }

  requests(path: string): SeenRequest[] {
    return this.#seen.filter((request) => request.path === path);
  }

  /** Resolves once the path was asked for so many times in all. */
  async asked(path: string, times = 1): Promise<void> {
    while (this.requests(path).length < times) await once(this.#news, 'request');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // A client that gives up is what many scripts are about.
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      const request = parseHead(head);
      head = '';
      this.#seen.push(request);
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

/** For `afterEach`. */
export async function closeScriptedWebs(): Promise<void> {
  for (const web of opened.splice(0)) await web.close();
}

/** A port on which nobody listens: a web that was opened and closed. */
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

/** A whole, honest answer. */
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

/** Answers 304 to whoever asks by this tag, and with the page and the tag to all others. */
export function tagged(body: string, etag: string): Step {
  return (socket, request) =>
    request.headers['if-none-match'] === etag
      ? page('', { status: 304, headers: { ETag: etag } })(socket, request)
      : page(body, { headers: { ETag: etag } })(socket, request);
}

/** A body in chunks (Transfer-Encoding), whole. */
export function chunked(chunks: readonly string[]): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }));
    for (const chunk of chunks) socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
    socket.end('0\r\n\r\n');
  };
}

/** Exactly these bytes, then the end. */
export function raw(text: string): Step {
  return (socket) => void socket.end(text, 'latin1');
}

/** The head, and fewer bytes than it says. */
export function cutShort(declared: number, sent: string): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Content-Length': String(declared) }));
    socket.end(sent);
  };
}

/** Chunks without the last one. */
export function cutChunks(sent: string): Step {
  return (socket) => {
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Transfer-Encoding': 'chunked' }));
    socket.end(`${Buffer.byteLength(sent).toString(16)}\r\n${sent}\r\n`);
  };
}

/** The connection is reset, before anything or after the head. */
export function reset({ afterHead = false } = {}): Step {
  return (socket) => {
    if (!afterHead) return void socket.resetAndDestroy();
    socket.write(headOf(200, { 'Content-Type': 'text/html', 'Content-Length': '100' }), () =>
      socket.resetAndDestroy(),
    );
  };
}

/** Nothing is ever answered. */
export const silence: Step = () => {};

/** The head and a first byte, and then nothing more. */
export const stall: Step = (socket) => {
  socket.write(`${headOf(200, { 'Content-Type': 'text/html', 'Content-Length': '1000000' })}x`);
};

/** A body without a length that never ends, as fast as it is taken. */
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
