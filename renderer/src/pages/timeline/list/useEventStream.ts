import { useEffect, useState } from 'react';
import { addressOf } from '../../../api/client.ts';

/**
 * Hears of each new event while the page can be seen; a hidden page lets go of its connection, of which a browser has
 * only a few for each host, and asks anew when it is seen again. Answers whether it hears now.
 */
export function useEventStream(onEvent: () => void): boolean {
  const [live, setLive] = useState(false);
  useEffect(() => {
    let stream: EventSource | undefined;
    const open = () => {
      stream = new EventSource(addressOf('streamEvents'));
      stream.addEventListener('open', () => {
        setLive(true);
        // What happened before the stream was open was told to nobody.
        onEvent();
      });
      stream.addEventListener('error', () => setLive(false));
      stream.addEventListener('message', onEvent);
      stream.addEventListener('event', onEvent);
    };
    const close = () => {
      stream?.close();
      stream = undefined;
      setLive(false);
    };
    const follow = () => {
      if (document.visibilityState === 'hidden') close();
      else if (!stream) open();
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      stream?.close();
    };
  }, [onEvent]);
  return live;
}
