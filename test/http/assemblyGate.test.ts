import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AssemblyGate } from '../../server/http/delivery/assemblyGate.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Where a request stands. */
type State = 'waits' | 'entered' | 'busy';

/** The request of a client at the gate. */
class Client {
  readonly #response = Object.assign(new EventEmitter(), { closed: false });
  #leave: (() => void) | undefined;
  state: State = 'waits';

  constructor(gate: AssemblyGate, address: string, mb: number) {
    const request = { socket: { remoteAddress: address, destroyed: false } };
    gate.enter(request as unknown as Request, this.#response as unknown as Response, mb).then(
      (leave) => {
        this.#leave = leave;
        this.state = 'entered';
      },
      (error: unknown) => {
        expect(error).toMatchObject({ code: 'busy', extra: { headers: { 'Retry-After': '10' } } });
        this.state = 'busy';
      },
    );
  }

  /** The work for the answer ends. */
  async end(): Promise<void> {
    this.#leave?.();
    await settled();
  }

  /** The response was sent, or the client disconnected. */
  async close(): Promise<void> {
    this.#response.closed = true;
    this.#response.emit('close');
    await settled();
  }

  get listeners(): number {
    return this.#response.listenerCount('close');
  }
}

const settled = () => vi.advanceTimersByTimeAsync(0);

function gateOf(limits: ConstructorParameters<typeof AssemblyGate>[0]) {
  const gate = new AssemblyGate(limits);
  const come = async (address: string, mb: number) => {
    const client = new Client(gate, address, mb);
    await settled();
    return client;
  };
  return { come };
}
const statesOf = (...clients: Client[]) => clients.map(({ state }) => state);

describe('what is assembled for readers', () => {
  test('waits in turn, also what is small enough to pass', async () => {
    const { come } = gateOf({ maxMb: 10, maxMbOfAddress: 10 });
    const [first, large, small] = [await come('a', 8), await come('b', 8), await come('c', 1)];
    expect(statesOf(first, large, small)).toEqual(['entered', 'waits', 'waits']);
    await first.end();
    await first.close();
    expect(statesOf(large, small)).toEqual(['entered', 'entered']);
    const [next, last] = [await come('d', 5), await come('e', 5)];
    await small.end();
    await small.close();
    expect(statesOf(next, last)).toEqual(['waits', 'waits']);
    await large.end();
    await large.close();
    expect(statesOf(next, last)).toEqual(['entered', 'entered']);
  });

  test('holds its place until its response is closed and the work for it has ended', async () => {
    const { come } = gateOf({ maxMb: 10, maxMbOfAddress: 10 });
    const [left, next] = [await come('a', 10), await come('b', 10)];
    // The client disconnected, but its answer is still being made.
    await left.close();
    expect(next.state).toBe('waits');
    await left.end();
    expect(next.state).toBe('entered');
    const last = await come('c', 10);
    // The answer is made, but the client does not read it.
    await next.end();
    expect(last.state).toBe('waits');
    await next.close();
    expect(last.state).toBe('entered');
  });

  test('leaves room for other addresses, which an address with its share does not hold up', async () => {
    const { come } = gateOf({ maxMb: 10, maxMbOfAddress: 6 });
    const [first, second, other] = [await come('a', 4), await come('a', 4), await come('b', 4)];
    expect(statesOf(first, second, other)).toEqual(['entered', 'waits', 'waits']);
    const third = await come('b', 6);
    await first.end();
    await first.close();
    expect(statesOf(second, other, third)).toEqual(['entered', 'entered', 'waits']);
    await second.end();
    await second.close();
    // There is room for 6 MB, but not for this address.
    expect(third.state).toBe('waits');
    await other.end();
    await other.close();
    expect(third.state).toBe('entered');
  });

  test('is refused after the wait, and if too many wait', async () => {
    const { come } = gateOf({ maxMb: 10, maxMbOfAddress: 10, maxWaiting: 2, maxWaitMs: 1_000 });
    const [first, early] = [await come('a', 10), await come('b', 10)];
    await vi.advanceTimersByTimeAsync(600);
    const late = await come('c', 10);
    const tooMany = await come('d', 1);
    expect(statesOf(early, late, tooMany)).toEqual(['waits', 'waits', 'busy']);
    await vi.advanceTimersByTimeAsync(400);
    expect(statesOf(early, late)).toEqual(['busy', 'waits']);
    await first.end();
    await first.close();
    expect(late.state).toBe('entered');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(late.state).toBe('entered');
    expect(early.listeners).toBe(0);
  });

  test('is left by a client that disconnects while it waits, and by one that came disconnected', async () => {
    const { come } = gateOf({ maxMb: 10, maxMbOfAddress: 10, maxWaiting: 2 });
    const [first, large, small] = [await come('a', 6), await come('b', 10), await come('c', 4)];
    expect(statesOf(large, small)).toEqual(['waits', 'waits']);
    await large.close();
    expect(statesOf(large, small)).toEqual(['busy', 'entered']);
    for (const each of [first, small]) {
      await each.end();
      await each.close();
    }
    // Nothing of the one that left is held.
    expect((await come('d', 10)).state).toBe('entered');
    const gate = new AssemblyGate();
    const gone = { socket: { remoteAddress: 'a', destroyed: true } } as unknown as Request;
    const open = Object.assign(new EventEmitter(), { closed: false }) as unknown as Response;
    await expect(gate.enter(gone, open, 1)).rejects.toMatchObject({ code: 'busy' });
  });
});
