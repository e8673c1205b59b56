/** Time as the node takes it; tests turn a clock of their own. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Resolves after `ms`, or as soon as the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      // setTimeout takes at most 2^31-1 ms; whoever sleeps longer looks at the clock again anyway.
      const timer = setTimeout(end, Math.min(ms, 2_147_483_647));
      signal?.addEventListener('abort', end, { once: true });
    }),
};

/** An instant as every answer writes it: RFC 3339, UTC, milliseconds. */
export function instantOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
