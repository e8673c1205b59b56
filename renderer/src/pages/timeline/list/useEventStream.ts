import { useEffect, useState } from 'react';
import { urlOf } from '../../../api/client.ts';

/**
 * Receives new events while the page is visible. A hidden page closes its connection, because a browser
 * allows only a few per host, and reconnects when it is visible again. Returns whether the stream is
 * connected.
 */
export function useEventStream(onEvent: () => void): boolean {
  const [live, setLive] = useState(false);
  useEffect(() => {
    let stream: EventSource | undefined;
    const open = () => {
      stream = new EventSource(urlOf('streamEvents'));
      stream.addEventListener('open', () => {
        setLive(true);
        // Events before the stream opened were not sent.
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
