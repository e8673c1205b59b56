import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Changes the body of a response, or writes another response itself and returns undefined. */
export type Lie = (body: Buffer, response: ServerResponse, path: string) => Buffer | undefined;

const opened: LyingPeer[] = [];

/**
 * A server in front of a node. It forwards requests, and lies where a test says so. It counts the requests, and keeps
 * the headers of the last one.
 */
export class LyingPeer {
  readonly #server: Server;
  readonly #lies: { path: RegExp; lie: Lie }[] = [];
  #behind: string;
  /** The address of this server. */
  url = '';
  requests: string[] = [];
  lastHeaders: NodeJS.Dict<string | string[]> = {};

  private constructor(behind: string) {
    this.#behind = behind;
    this.#server = createServer((request, response) => {
      const { url = '/' } = request;
      this.requests.push(url);
      this.lastHeaders = request.headers;
      this.#answer(url, request, response).catch(() => response.destroy());
    });
  }

  /** Starts a server on a free port in front of the node at an address; `closeLyingPeers` closes it. */
  static async open(behind: string): Promise<LyingPeer> {
    const peer = new LyingPeer(behind);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    peer.url = `http://127.0.0.1:${(peer.#server.address() as AddressInfo).port}`;
    opened.push(peer);
    return peer;
  }

  /** From now on, stands in front of another node. */
  showInstead(behind: string): void {
    this.#behind = behind;
  }

  lie(path: RegExp, lie: Lie): void {
    this.#lies.push({ path, lie });
  }

  tellTheTruth(): void {
    this.#lies.length = 0;
  }

  async #answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request;
    const sent = method === 'GET' ? {} : { method, body: Buffer.from(await buffer(request)) };
    const type = headers['content-type'];
    const truth = await fetch(new URL(path, this.#behind), {
      redirect: 'manual',
      ...(type && { headers: { 'Content-Type': type } }),
      ...sent,
    });
    const body = Buffer.from(await truth.arrayBuffer());
    const lie = this.#lies.find((each) => each.path.test(path))?.lie;
    const answer = lie ? lie(body, response, path) : body;
    if (answer === undefined) return;
    response.writeHead(truth.status, {
      'Content-Type': truth.headers.get('Content-Type') ?? 'text/plain',
      'Content-Length': answer.length,
    });
    response.end(answer);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** For `afterEach`. */
export function closeLyingPeers(): void {
  for (const peer of opened.splice(0)) peer.close();
}
