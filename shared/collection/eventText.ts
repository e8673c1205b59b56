import type { EventType } from './event.ts';

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
    meaning: 'Several consecutive checks failed.',
  },
  disappeared: {
    name: 'Disappeared',
    happened: 'has disappeared',
    happens: 'disappears',
    meaning: 'The server reported twice that the resource no longer exists.',
  },
  recovered: {
    name: 'Recovered',
    happened: 'is back',
    happens: 'is back',
    meaning: 'The source can be retrieved again.',
  },
};
