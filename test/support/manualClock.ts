import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../shared/values/clock.ts';

interface Sleeper {
  wakeAt: number;
  wake: () => void;
}

/** A clock that only advances when a test advances it. */
export class ManualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  readonly #waiting: { ms: number; seen: () => void }[] = [];
  #now: number;
  /** How far it was set ahead of the time that passed. */
  #setAhead = 0;

  constructor(start = '2026-11-20T10:00:00.000Z') {
    this.#now = Date.parse(start);
  }

  uptime(): number {
    return this.#now - this.#setAhead;
  }

  /** Sets the time without letting any pass, as a person or a wrong time server does. */
  set(ms: number): void {
    this.#now += ms;
    this.#setAhead += ms;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const end = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const sleeper = { wakeAt: this.#now + ms, wake: end };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', end, { once: true });
      this.#notifyWaiting();
    });
  }

  /** Advances the clock step by step: wakes each sleeper at its time and lets it run before the clock advances further. */
  async turn(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#sleepers].sort((left, right) => left.wakeAt - right.wakeAt)[0];
      if (!next || next.wakeAt > end) break;
      this.#now = Math.max(this.#now, next.wakeAt);
      next.wake();
      await setImmediate();
    }
    this.#now = end;
    await setImmediate();
  }

  /** Advances the clock at once, as when the machine was suspended: overdue sleepers wake late. */
  async jump(ms: number): Promise<void> {
    this.#now += ms;
    for (const sleeper of this.#sleepers) if (sleeper.wakeAt <= this.#now) sleeper.wake();
    await setImmediate();
  }

  /** Wakes every sleeper without advancing, as when real time passed while the system clock was set back. */
  async wakeAll(): Promise<void> {
    for (const sleeper of this.#sleepers) sleeper.wake();
    await setImmediate();
  }

  /** Resolves when there is a sleeper that is due in exactly this many milliseconds. */
  async sleeperOf(ms: number): Promise<void> {
    if (this.#hasSleeperOf(ms)) return;
    await new Promise<void>((seen) => {
      this.#waiting.push({ ms, seen });
    });
  }

  #hasSleeperOf(ms: number): boolean {
    return [...this.#sleepers].some(({ wakeAt }) => wakeAt - this.#now === ms);
  }

  #notifyWaiting(): void {
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const waiting = this.#waiting[index];
      if (!waiting || !this.#hasSleeperOf(waiting.ms)) continue;
      this.#waiting.splice(index, 1);
      waiting.seen();
    }
  }
}
