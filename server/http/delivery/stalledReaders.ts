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
 * large piece little by little is not stalled. Looks are counted and not time, because a reader takes nothing either while
 * this process is held up or its machine sleeps.
 */
export class StalledReaders {
  readonly #seen = new WeakMap<Socket, { taken: number; looks: number }>();

  /** Looks at a reader: at how many looks in a row it has taken nothing, 0 where nothing waits for it. */
  checksWithoutProgress(socket: Socket, answer: ServerResponse | undefined): number {
    const handle = (socket as { _handle?: Handle | null })._handle;
    if (!handle) return 0;
    const waits = handle.writeQueueSize > 0 || socket.writableLength > 0 || isHeld(answer);
    const taken = handle.bytesWritten - handle.writeQueueSize;
    const last = this.#seen.get(socket);
    const looks = waits && last?.taken === taken ? last.looks + 1 : 0;
    this.#seen.set(socket, { taken, looks });
    return looks;
  }
}

function isHeld(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && !answer.closed && answer.writableLength > 0;
}
