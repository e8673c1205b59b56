import { after } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import type { Store } from '../../store/store.ts';
import { readSeen } from './events.ts';

/** Counts are at least this far apart: a round commits many times. */
const PAUSE_MS = 1_000;

/** Calls the listener with the number of unseen events, without noise: now, and soon after it has changed. Returns stop. */
export function followUnseen(
  { store, log }: { store: Pick<Store, 'read' | 'onCommit'>; log: Log },
  listener: (count: number) => void,
): () => void {
  let last: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const count = async () => {
    const { unseen } = await readSeen(store);
    if (unseen !== last) listener(unseen);
    last = unseen;
  };
  const countSoon = (ms: number) => {
    timer ??= after(
      ms,
      async () => {
        timer = undefined;
        await count();
      },
      (error) => log.warn({ error }, 'The unseen events could not be counted.'),
    ).unref();
  };
  const unsubscribe = store.onCommit(() => countSoon(PAUSE_MS));
  countSoon(0);
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}
