import { useEffect, useState } from 'react';

/** When a window of this browser last left. */
const LEFT_AT = 'strongroom-left-at';
/** The value of `LEFT_AT` when this window opened. Later changes by this window are not a new visit. */
const CAME_AFTER = 'strongroom-came-after';

/** The end of the previous visit with this browser; undefined on the first visit. */
export function useLastVisit(): string | undefined {
  const [last] = useState(
    () => sessionStorage.getItem(CAME_AFTER) ?? localStorage.getItem(LEFT_AT) ?? undefined,
  );
  useEffect(() => {
    if (last !== undefined) sessionStorage.setItem(CAME_AFTER, last);
    const leave = () => localStorage.setItem(LEFT_AT, new Date().toISOString());
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, [last]);
  return last;
}
