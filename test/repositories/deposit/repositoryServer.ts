import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a repository received it. */
export interface Received {
  params: string[];
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface Answer {
  status: number;
  json?: unknown;
  headers?: Record<string, string>;
}

/** What happens to one request: it is not processed, or processed and not answered, or one of both and answered otherwise. */
export type Fault = 'unprocessed' | 'unanswered' | (Answer & { isProcessed?: boolean });

type Route = readonly [name: string, method: string, path: RegExp, handle: (received: Received) => Answer];

const opened: RepositoryServer[] = [];

/** For `afterEach`. */
export async function closeRepositories(): Promise<void> {
  for (const server of opened.splice(0)) await server.close();
}

/** A repository on loopback that keeps what it is sent in memory. Requests that its interface does not have get 404. */
export abstract class RepositoryServer {
  readonly #server: Server;
  /** The names of all requests that were processed, in order. */
  readonly processed: string[] = [];
  /** Called for each request. */
  fault: (name: string) => Fault | undefined | Promise<Fault | undefined> = () => undefined;
  token = 'secret-token-of-the-repository';

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  protected abstract readonly routes: readonly Route[];
  protected abstract tokenOf(headers: IncomingMessage['headers']): string | undefined;

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    opened.push(this);
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  countOf(name: string): number {
    return this.processed.filter((each) => each === name).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client gave up, as one that is killed does.
      return;
    }
    const url = new URL(request.url ?? '', this.url);
    const route = this.routes.find(
      ([, method, path]) => method === request.method && path.test(decodeURIComponent(url.pathname)),
    );
    const name = route?.[0] ?? `${request.method} ${url.pathname}`;
    const fault = await this.fault(name);
    if (fault === 'unprocessed') return void request.socket.destroy();
    if (typeof fault === 'object' && !fault.isProcessed) return send(response, fault);
    const answer = this.#answer(route, request, url, Buffer.concat(chunks));
    this.processed.push(name);
    if (fault === 'unanswered') request.socket.destroy();
    else send(response, fault ?? answer);
  }

  #answer(route: Route | undefined, { headers }: IncomingMessage, url: URL, body: Buffer): Answer {
    if (this.tokenOf(headers) !== this.token)
      return { status: 401, json: { message: `Bad credentials: ${this.tokenOf(headers)}` } };
    if (!route) return notFound('There is nothing here.');
    const params = (route[2].exec(decodeURIComponent(url.pathname)) ?? []).slice(1);
    return route[3]({ params, query: url.searchParams, headers, body });
  }
}

export function notFound(message: string): Answer {
  return { status: 404, json: { status: 404, message } };
}

function send(response: ServerResponse, { status, json, headers = {} }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(json === undefined ? undefined : JSON.stringify(json));
}
