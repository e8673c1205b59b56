import { useEffect, useState } from 'react';

/** When a window of this browser was last left. */
const LEFT_AT = 'strongroom-left-at';
/** What `LEFT_AT` said when this window came: its own going to and fro is no new visit. */
const CAME_AFTER = 'strongroom-came-after';

/** When this browser was last left before this visit; undefined on the first. */
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
