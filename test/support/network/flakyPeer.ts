import type { IncomingMessage, ServerResponse } from 'node:http';
import { PeerFront } from './peerFront.ts';

/** What goes wrong with a call: there is no answer, another status, none in time, or one that is no JSON. */
export const CALL_FAULTS = ['refuse', 'status 500', 'status 429', 'silence', 'wrong JSON'] as const;
/** What goes wrong with a body at a byte. */
export const BODY_FAULTS = ['cut', 'reset', 'stall', 'extra bytes', 'other bytes'] as const;

export type PeerFault =
  | { call: number; fault: (typeof CALL_FAULTS)[number] }
  | { call: number; byte: number; fault: (typeof BODY_FAULTS)[number] };

/**
 * A server in front of a real node whose answer fails at one call, or in the middle of one body. Give its `timer` to the
 * node that reads from it: time only passes when this peer does not answer.
 */
export class FlakyPeer extends PeerFront {
  readonly #running = new Set<() => void>();
  #fault: PeerFault | undefined;
  /** The paths of the calls since the last `failAt` or `workAgain`, with the bytes of their bodies. */
  calls: { path: string; bytes: number }[] = [];
  /** Whether the fault has happened. */
  hasFailed = false;

  /** Starts a server on a free port in front of the node at an address; `closePeerFronts` closes it. */
  static open(behind: string): Promise<FlakyPeer> {
    return new FlakyPeer(behind).listen();
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

  protected async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = { path: request.url ?? '/', bytes: 0 };
    const number = this.calls.push(call);
    const { status, contentType, body } = await this.forward(request);
    call.bytes = body.length;
    const fault = this.#fault?.call === number ? this.#fault : undefined;
    const begin = (length: number) =>
      response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': length });
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
}
