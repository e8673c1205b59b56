import { useSyncExternalStore } from 'react';
import { exactTime, relativeTime } from '../../format/time.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';

const TICK_MS = 15_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** All texts of a page share one timer. */
function subscribeToTicks(notify: () => void): () => void {
  listeners.add(notify);
  timer ??= setInterval(() => {
    for (const listener of listeners) listener();
  }, TICK_MS);
  return () => {
    listeners.delete(notify);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time in whole seconds, updated every few seconds. */
function useNow(): number {
  return useSyncExternalStore(subscribeToTicks, () => Math.floor(Date.now() / 1000) * 1000);
}

export interface TimeTextProps {
  /** An RFC 3339 timestamp. */
  at: string;
  /** `exact` shows the timestamp and puts the relative time in the tooltip. The default is the reverse. */
  show?: 'relative' | 'exact';
}

/** A point in time, relative, with the exact timestamp on hover, in the person's time zone or UTC. */
export function TimeText({ at, show = 'relative' }: TimeTextProps) {
  const now = useNow();
  const zone = useDisplaySettings((look) => look.zone);
  const near = () => relativeTime(at, now);
  const exact = () => exactTime(at, zone);
  const [shown, hint] = show === 'relative' ? [near, exact] : [exact, near];
  return (
    <LazyTooltip label={hint}>
      {(trigger) => (
        <time {...trigger} dateTime={at} className="nowrap numeric">
          {shown()}
        </time>
      )}
    </LazyTooltip>
  );
}
