import { setTimeout as delay } from 'node:timers/promises';
import { app, Notification } from 'electron';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { RunningNode } from '../server/node.ts';
import { type Event, type EventType, eventSchema } from '../shared/collection/event.ts';
import type { Preferences } from './preferences.ts';
import type { DesktopWindow } from './window.ts';

const RETRY_DELAY_MS = 5_000;

const EVENT_TEXT: Record<EventType, string> = {
  first_seen: 'was seen for the first time',
  changed: 'has changed',
  unavailable: 'cannot be reached',
  disappeared: 'has disappeared',
  recovered: 'is back',
};

/** Shows the alerts for this desktop, and a system notification for each event of the types that the owner selected. */
export function setUpNotifications(node: RunningNode, window: DesktopWindow, preferences: Preferences): void {
  if (!Notification.isSupported()) return;
  const quitting = new AbortController();
  app.on('will-quit', () => quitting.abort());
  const notify = (event: Event) => {
    if (!preferences.current.notify.includes(event.event_type)) return;
    const notification = new Notification({
      title: `${event.source.name || event.source.url} ${EVENT_TEXT[event.event_type]}`,
      body: event.source.url,
    });
    notification.on('click', () => window.goTo(`/timeline/${event.id}`));
    notification.show();
  };
  node.showAlerts(({ title, alerts: [first, ...others] }) => {
    const body = others.length === 0 ? (first?.text ?? '') : (first?.title ?? '');
    const notification = new Notification({ title, body });
    const path = URL.parse(first?.link ?? '');
    notification.on('click', () => window.goTo(path && others.length === 0 ? path.pathname : '/alerts'));
    notification.show();
  });
  void followTimeline(node.url, notify, quitting.signal);
}

/** Follows the event stream until the app quits. After a disconnect it resumes after the last event. */
async function followTimeline(
  nodeUrl: string,
  notify: (event: Event) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId: string | undefined;
  while (!signal.aborted) {
    try {
      for await (const { id, data } of await openStream(nodeUrl, lastEventId, signal)) {
        lastEventId = id ?? lastEventId;
        notify(eventSchema.parse(JSON.parse(data)));
      }
    } catch (error) {
      if (!signal.aborted) console.warn('The event stream was disconnected; the app reconnects.', error);
    }
    if (!signal.aborted) await delay(RETRY_DELAY_MS);
  }
}

async function openStream(nodeUrl: string, lastEventId: string | undefined, signal: AbortSignal) {
  const response = await fetch(new URL('/api/events/stream', nodeUrl), {
    headers: lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId },
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(`The node answered ${response.status}.`);
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
}
