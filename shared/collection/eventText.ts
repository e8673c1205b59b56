import { type Event, type EventType } from './event.ts';
import { BROWSER, HANDED_IN_WORDS, isHandedIn, SELF } from './observers.ts';

/** What an event is called, in the interface, in feeds, in alerts, on the desktop and in the pages of copies. */
export interface EventText {
  /** As a title. In a line of text it is in lower case. */
  name: string;
  /** After the name of a source: “Daily levels has changed”. */
  happened: string;
  /** In the condition of a rule: “when Daily levels changes”. */
  happens: string;
  meaning: string;
}

export const EVENT_TEXT: Record<EventType, EventText> = {
  first_seen: {
    name: 'First seen',
    happened: 'was seen for the first time',
    happens: 'is seen for the first time',
    meaning: 'The source was retrieved for the first time.',
  },
  changed: {
    name: 'Changed',
    happened: 'has changed',
    happens: 'changes',
    meaning: 'The content changed. Both versions are kept.',
  },
  unavailable: {
    name: 'Unavailable',
    happened: 'can no longer be reached',
    happens: 'can no longer be reached',
    meaning:
      'Several consecutive checks failed. The source may be temporarily unreachable. Its last version is kept.',
  },
  disappeared: {
    name: 'Disappeared',
    happened: 'has disappeared',
    happens: 'disappears',
    meaning:
      'The server reported twice, minutes apart, that the resource no longer exists. Its last version is kept.',
  },
  recovered: {
    name: 'Recovered',
    happened: 'is back',
    happens: 'is back',
    meaning: 'The source can be retrieved again.',
  },
};

/** The title of an event: “Changed: Daily levels”. */
export function eventTitle({ event_type }: Pick<Event, 'event_type'>, sourceName: string): string {
  return `${EVENT_TEXT[event_type].name}: ${sourceName}`;
}

/** Returns what an event means. What a version is new to depends on who observed it. */
export function eventMeaning({
  event_type,
  reverts_to,
  observer,
}: Pick<Event, 'event_type' | 'reverts_to' | 'observer'>): string {
  const isFirst = event_type === 'first_seen';
  if (!isFirst && event_type !== 'changed') return EVENT_TEXT[event_type].meaning;
  if (isHandedIn(observer))
    return isFirst
      ? `The first version that this person saw of the address, ${HANDED_IN_WORDS}.`
      : `Another version than this person handed in before, ${HANDED_IN_WORDS}.`;
  if (observer === BROWSER) {
    if (isFirst) return 'The page was drawn for the first time, as a person sees it.';
    return reverts_to === null
      ? 'The visible text of the page changed. Both versions are kept.'
      : 'The page shows the same text as in an earlier version.';
  }
  const meaning =
    reverts_to === null ? EVENT_TEXT[event_type].meaning : 'The source returned to an earlier version.';
  return observer === SELF ? meaning : meaning.replace('.', ' in the captures of this observer.');
}
