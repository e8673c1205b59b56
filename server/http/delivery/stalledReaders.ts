import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The libuv handle of a connection. Only it shows how much of a pending write the kernel has accepted. */
interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/**
 * Finds connections whose reader does not accept pending data. It compares how many bytes the kernel has accepted. So
 * heartbeats do not make a stalled reader look alive, and a reader that accepts a large chunk slowly is not stalled.
 * It counts checks instead of measuring time, because no reader makes progress while this process is blocked or the
 * machine sleeps.
 */
export class StalledReaders {
  readonly #seen = new WeakMap<Socket, { accepted: number; checks: number }>();

  /** Checks a reader. Returns the number of consecutive checks without progress; 0 if nothing is pending. */
  checksWithoutProgress(socket: Socket, response: ServerResponse | undefined): number {
    const handle = (socket as { _handle?: Handle | null })._handle;
    if (!handle) return 0;
    const isPending = handle.writeQueueSize > 0 || socket.writableLength > 0 || hasBufferedData(response);
    const accepted = handle.bytesWritten - handle.writeQueueSize;
    const last = this.#seen.get(socket);
    const checks = isPending && last?.accepted === accepted ? last.checks + 1 : 0;
    this.#seen.set(socket, { accepted, checks });
    return checks;
  }
}

function hasBufferedData(response: ServerResponse | undefined): boolean {
  return response !== undefined && !response.closed && response.writableLength > 0;
}
