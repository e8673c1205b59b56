import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** libuv's end of a connection: only there is it told what the system has taken of a write that goes on. */
interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/**
 * Finds connections whose reader takes nothing of what waits for it. That is seen in what the system takes from this
 * process: whoever writes on, as a stream's heartbeat does, makes no stalled reader look alive, and one that takes a
 * large piece little by little is not stalled.
 */
export class StalledReaders {
  readonly #seen = new WeakMap<Socket, { taken: number; at: number }>();

  /** For how many milliseconds a reader has taken nothing, as far as it was looked at; 0 where nothing waits for it. */
  stalledFor(socket: Socket, answer: ServerResponse | undefined): number {
    const handle = (socket as { _handle?: Handle | null })._handle;
    if (!handle) return 0;
    const now = performance.now();
    const waits = handle.writeQueueSize > 0 || socket.writableLength > 0 || isHeld(answer);
    const taken = handle.bytesWritten - handle.writeQueueSize;
    const last = this.#seen.get(socket);
    if (waits && last?.taken === taken) return now - last.at;
    this.#seen.set(socket, { taken, at: now });
    return 0;
  }
}

function isHeld(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && !answer.closed && answer.writableLength > 0;
}
