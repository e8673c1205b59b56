import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What goes wrong with a call: there is no answer, another status, none in time, or one that is no JSON. */
export const CALL_FAULTS = ['refuse', 'status 500', 'status 429', 'silence', 'wrong JSON'] as const;
/** What goes wrong with a body at a byte. */
export const BODY_FAULTS = ['cut', 'reset', 'stall', 'extra bytes', 'other bytes'] as const;

export type PeerFault =
  | { call: number; fault: (typeof CALL_FAULTS)[number] }
  | { call: number; byte: number; fault: (typeof BODY_FAULTS)[number] };

const opened: FlakyPeer[] = [];

/**
 * A server in front of a real node whose answer fails at one call, or in the middle of one body. Give its `timer` to the
 * node that reads from it: time only passes when this peer does not answer.
 */
export class FlakyPeer {
  readonly #behind: string;
  readonly #server: Server;
  readonly #running = new Set<() => void>();
  #fault: PeerFault | undefined;
  /** The address of this server. */
  url = '';
  /** The paths of the calls since the last `failAt` or `workAgain`, with the bytes of their bodies. */
  calls: { path: string; bytes: number }[] = [];
  /** Whether the fault has happened. */
  hasFailed = false;

  private constructor(behind: string) {
    this.#behind = behind;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** Starts a server on a free port in front of the node at an address; `closeFlakyPeers` closes it. */
  static async open(behind: string): Promise<FlakyPeer> {
    const peer = new FlakyPeer(behind);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    peer.url = `http://127.0.0.1:${(peer.#server.address() as AddressInfo).port}`;
    opened.push(peer);
    return peer;
  }

  readonly timer = (_ms: number, over: () => void): (() => void) => {
    this.#running.add(over);
    return () => void this.#running.delete(over);
  };

  /** From now on, counts the calls from 1 and fails once. */
  failAt(fault: PeerFault): void {
    this.workAgain();
    this.#fault = fault;
  }

  workAgain(): void {
    this.#fault = undefined;
    this.calls = [];
    this.hasFailed = false;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '/', method = 'GET', headers } = request;
    const call = { path, bytes: 0 };
    const number = this.calls.push(call);
    const sent = method === 'GET' ? {} : { method, body: Buffer.from(await buffer(request)) };
    const type = headers['content-type'];
    const truth = await fetch(new URL(path, this.#behind), {
      redirect: 'manual',
      ...(type && { headers: { 'Content-Type': type } }),
      ...sent,
    });
    const body = Buffer.from(await truth.arrayBuffer());
    call.bytes = body.length;
    const fault = this.#fault?.call === number ? this.#fault : undefined;
    const contentType = truth.headers.get('Content-Type') ?? 'text/plain';
    const begin = (length: number) =>
      response.writeHead(truth.status, { 'Content-Type': contentType, 'Content-Length': length });
    if (!fault) return void begin(body.length).end(body);
    this.hasFailed = true;
    if ('byte' in fault) this.#failIn(body.subarray(0, fault.byte), body, { fault, response, begin });
    else this.#failCall(fault.fault, response);
  }

  #failCall(fault: (typeof CALL_FAULTS)[number], response: ServerResponse): void {
    if (fault === 'refuse') return void response.socket?.destroy();
    if (fault === 'silence') return this.#endTimes();
    const status = fault === 'status 500' ? 500 : fault === 'status 429' ? 429 : 200;
    response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"items": [{"nonsense": ');
  }

  #failIn(
    before: Buffer,
    body: Buffer,
    {
      fault: { fault },
      response,
      begin,
    }: {
      fault: { fault: (typeof BODY_FAULTS)[number] };
      response: ServerResponse;
      begin: (length: number) => ServerResponse;
    },
  ): void {
    const rest = body.subarray(before.length);
    if (fault === 'extra bytes')
      return void begin(body.length + 3).end(Buffer.concat([body, Buffer.from('abc')]));
    if (fault === 'other bytes')
      return void begin(body.length).end(Buffer.concat([before, rest.map((byte) => byte ^ 1)]));
    begin(body.length + (rest.length === 0 ? 1 : 0));
    response.flushHeaders();
    response.write(before, () => {
      if (fault === 'stall') this.#endTimes();
      else if (fault === 'cut') response.destroy();
      else response.socket?.resetAndDestroy();
    });
  }

  /** The time that a response may take is over, and that for the bytes that came. */
  #endTimes(): void {
    for (let round = 0; round < 3; round += 1) for (const over of Array.from(this.#running)) over();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** For `afterEach`. */
export function closeFlakyPeers(): void {
  for (const peer of opened.splice(0)) peer.close();
}
