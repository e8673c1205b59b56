/** The clock of the node. Tests replace it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /**
   * Milliseconds since the machine started, also those in which it slept. Setting the time does not change it. A clock without
   * it is trusted.
   */
  uptime?(): number;
  /** Resolves after `ms`, or when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system clock. */
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
      // setTimeout takes at most 2^31-1 ms. Callers that sleep longer check the clock again anyway.
      const timer = setTimeout(end, Math.min(ms, 2_147_483_647));
      signal?.addEventListener('abort', end, { once: true });
    }),
};

/** The form in which a node writes times: UTC, with milliseconds (RFC 3339). */
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Formats an instant as in all responses: RFC 3339, UTC, milliseconds. */
export function instantOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
