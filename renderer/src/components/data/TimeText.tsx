import { useSyncExternalStore } from 'react';
import { exactTime, relativeTime } from '../../format/time.ts';
import { useLook } from '../../state/look.ts';
import { Hint } from '../feedback/Hint.tsx';

const TICK_MS = 15_000;

function subscribeToTicks(tell: () => void): () => void {
  const timer = setInterval(tell, TICK_MS);
  return () => clearInterval(timer);
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
  const zone = useLook((look) => look.zone);
  const near = relativeTime(at, now);
  const exact = exactTime(at, zone);
  return (
    <Hint label={show === 'relative' ? exact : near}>
      {(trigger) => (
        <time {...trigger} dateTime={at} className="nowrap numeric">
          {show === 'relative' ? near : exact}
        </time>
      )}
    </Hint>
  );
}
