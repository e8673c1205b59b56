import { useEffect, useState } from 'react';

const KEY = 'strongroom-last-visit';

/** When this browser last left the overview; undefined on the first visit. The same until the page is left. */
export function useLastVisit(): string | undefined {
  const [last] = useState(() => localStorage.getItem(KEY) ?? undefined);
  useEffect(() => {
    const leave = () => localStorage.setItem(KEY, new Date().toISOString());
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, []);
  return last;
}
