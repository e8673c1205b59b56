import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What the node behind a front answered. */
export interface Truth {
  status: number;
  contentType: string;
  body: Buffer;
}

const opened: PeerFront[] = [];

/** A server in front of a real node. It forwards each request, and decides what becomes of the answer. */
export abstract class PeerFront {
  readonly #server: Server;
  /** The address of the node behind it. */
  protected behind: string;
  /** The address of this server. */
  url = '';

  protected constructor(behind: string) {
    this.behind = behind;
    this.#server = createServer((request, response) => {
      this.answer(request, response).catch(() => response.destroy());
    });
  }

  protected abstract answer(request: IncomingMessage, response: ServerResponse): Promise<void>;

  /** Listens on a free port; `closePeerFronts` closes it. */
  protected async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    opened.push(this);
    return this;
  }

  /** Asks the node behind. */
  protected async forward(request: IncomingMessage): Promise<Truth> {
    const { url = '/', method = 'GET', headers } = request;
    const sent = method === 'GET' ? {} : { method, body: Buffer.from(await buffer(request)) };
    const type = headers['content-type'];
    const truth = await fetch(new URL(url, this.behind), {
      redirect: 'manual',
      ...(type && { headers: { 'Content-Type': type } }),
      ...sent,
    });
    return {
      status: truth.status,
      contentType: truth.headers.get('Content-Type') ?? 'text/plain',
      body: Buffer.from(await truth.arrayBuffer()),
    };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** For `afterEach`. */
export function closePeerFronts(): void {
  for (const front of opened.splice(0)) front.close();
}
