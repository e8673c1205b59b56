/**
 * Calls functions when a signal is aborted, with one listener for each signal. A signal compares each new listener with
 * all it has, so thousands of requests of a round that wait with the same signal would take quadratic time.
 */
export class AbortCalls {
  readonly #groups = new Map<AbortSignal, { calls: Set<() => void>; listener: () => void }>();

  add(signal: AbortSignal, call: () => void): void {
    let group = this.#groups.get(signal);
    if (!group) {
      const calls = new Set<() => void>();
      const listener = () => {
        this.#groups.delete(signal);
        for (const each of calls) each();
      };
      group = { calls, listener };
      this.#groups.set(signal, group);
      signal.addEventListener('abort', listener, { once: true });
    }
    group.calls.add(call);
  }

  remove(signal: AbortSignal, call: () => void): void {
    const group = this.#groups.get(signal);
    if (!group?.calls.delete(call) || group.calls.size > 0) return;
    this.#groups.delete(signal);
    signal.removeEventListener('abort', group.listener);
  }
}
