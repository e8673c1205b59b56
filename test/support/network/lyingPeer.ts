import type { IncomingMessage, ServerResponse } from 'node:http';
import { PeerFront } from './peerFront.ts';

/** Changes the body of a response, or writes another response itself and returns undefined. */
export type Lie = (body: Buffer, response: ServerResponse, path: string) => Buffer | undefined;

/**
 * A server in front of a node. It forwards requests, and lies where a test says so. It counts the requests, and keeps
 * the headers of the last one.
 */
export class LyingPeer extends PeerFront {
  readonly #lies: { path: RegExp; lie: Lie }[] = [];
  requests: string[] = [];
  lastHeaders: NodeJS.Dict<string | string[]> = {};

  /** Starts a server on a free port in front of the node at an address; `closePeerFronts` closes it. */
  static open(behind: string): Promise<LyingPeer> {
    return new LyingPeer(behind).listen();
  }

  /** From now on, stands in front of another node. */
  showInstead(behind: string): void {
    this.behind = behind;
  }

  lie(path: RegExp, lie: Lie): void {
    this.#lies.push({ path, lie });
  }

  tellTheTruth(): void {
    this.#lies.length = 0;
  }

  protected async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '/', headers } = request;
    this.requests.push(path);
    this.lastHeaders = headers;
    const { status, contentType, body } = await this.forward(request);
    const lie = this.#lies.find((each) => each.path.test(path))?.lie;
    const answer = lie ? lie(body, response, path) : body;
    if (answer === undefined) return;
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': answer.length });
    response.end(answer);
  }
}
