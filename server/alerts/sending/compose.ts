import type { AlertItem, AlertMessage } from '../../../shared/alerts/delivery.ts';
import type { Event, EventType } from '../../../shared/collection/event.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { plainLine, summarize } from '../../collection/diff/summarize.ts';
import { eventById } from '../../store/sqlite/collection/timeline/events.ts';
import type { DeliveryRow } from '../../store/sqlite/node/alerts/deliveries.ts';
import type { Notice } from '../../store/sqlite/node/alerts/notices.ts';
import type { Store } from '../../store/store.ts';
import type { ChangeReader } from '../changeReader.ts';
import { diffLines } from './diffLines.ts';

export interface ComposeServices {
  store: Pick<Store, 'read' | 'clock'>;
  reader: ChangeReader;
  /** The address that links begin with. */
  origin: () => string;
}

const MAX_TITLE = 150;
const MAX_TEXT = 600;
const MAX_NAME = 80;

const EVENT_WORDS: Record<EventType, string> = {
  first_seen: 'was seen for the first time',
  changed: 'has changed',
  unavailable: 'cannot be reached any more',
  disappeared: 'has disappeared',
  recovered: 'is back',
};

/** Describes a delivery in words. Text from strangers becomes plain text in bounded lines. */
export async function composeMessage(
  { notices, count, rule_name }: DeliveryRow,
  services: ComposeServices,
  signal: AbortSignal,
): Promise<AlertMessage> {
  const alerts: AlertItem[] = [];
  for (const notice of notices) alerts.push(await itemOf(notice, services, signal));
  const [first] = alerts;
  const title = count === 1 && first ? first.title : plainLine(`${count} alerts: ${rule_name}`, MAX_TITLE);
  return { title, at: instantOf(services.store.clock.now()), alerts, more: count - alerts.length };
}

async function itemOf(
  { kind, at, event, title, text, path, source }: Notice,
  services: ComposeServices,
  signal: AbortSignal,
): Promise<AlertItem> {
  const found = event === null ? undefined : eventById(services.store.read, event);
  const said = found ? await wordsOf(found, services.reader, signal) : undefined;
  return {
    kind,
    at,
    title: plainLine(title ?? said?.title ?? '', MAX_TITLE),
    text: plainLine([text, said?.text].filter(Boolean).join(' '), MAX_TEXT),
    diff: said?.diff ?? [],
    link: services.origin() + path,
    event,
    source: source && { ...source, name: plainLine(source.name, MAX_NAME) },
  };
}

async function wordsOf(
  event: Event,
  reader: ChangeReader,
  signal: AbortSignal,
): Promise<Pick<AlertItem, 'title' | 'text' | 'diff'>> {
  const { id, event_type, source, page_label, observed_at } = event;
  const comparison = event_type === 'changed' ? await reader.comparisonOf(id, signal) : undefined;
  const summary = comparison && summarize(comparison, null);
  const sentences = [
    `${source.url} ${EVENT_WORDS[event_type]} (${observed_at}).`,
    summary ? `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.` : '',
    page_label ? `The page may not be what a person would see: ${page_label.reason}.` : '',
  ];
  return {
    title: `${plainLine(source.name || source.url, MAX_NAME)} ${EVENT_WORDS[event_type]}`,
    text: sentences.filter(Boolean).join(' '),
    diff: comparison ? diffLines(comparison) : [],
  };
}
