import { notifications } from '@mantine/notifications';
import type { MouseEvent } from 'react';
import { sendRequest } from '../../api/client.ts';
import { describeError } from './ErrorNote.tsx';

/** Asks first whether the node can make the file now: a refused download would fail without a word. */
export async function exportFile(click: MouseEvent<HTMLAnchorElement>): Promise<void> {
  const { href } = click.currentTarget;
  click.preventDefault();
  try {
    const { status } = await sendRequest(href, { method: 'HEAD' });
    // The response is a file, so the page stays. The browser shows any other refusal.
    if (status !== 503) window.location.assign(href);
    else notifications.show({ color: 'red', message: BUSY });
  } catch (error) {
    notifications.show({ color: 'red', message: describeError(error).sentence });
  }
}

const BUSY = 'The node is busy with other exports. Try again in a minute.';
