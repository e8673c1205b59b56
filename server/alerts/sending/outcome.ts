/** The outcome of an attempt to send. `interrupted`: the receiver may have it, so it is not sent again automatically. */
export type Outcome = { kind: 'sent' } | { kind: 'retry' | 'refused' | 'interrupted'; error: string };

/** The pauses between attempts. The last attempt is a day after the first. */
const DELAYS_MS = [5, 60, 300, 1_800, 3_600, 7_200, 14_400, 21_600].map((seconds) => seconds * 1_000);

/** Returns when a message is sent again; undefined if its time is over. */
export function nextAttemptAt(attempts: number, now: number, givesUpAt: number): number | undefined {
  if (now >= givesUpAt) return undefined;
  return Math.min(now + (DELAYS_MS[attempts - 1] ?? DELAYS_MS.at(-1) ?? 0), givesUpAt);
}
