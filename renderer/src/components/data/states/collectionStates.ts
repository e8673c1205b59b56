import {
  IconArrowBackUp,
  IconCircleCheck,
  IconCircleDashed,
  IconCirclePlus,
  IconCircleX,
  IconEqual,
  IconPencil,
  IconPlugConnectedX,
  IconQuestionMark,
} from '@tabler/icons-react';
import type { EventType } from '../../../../../shared/collection/event.ts';
import type { SourceState } from '../../../../../shared/collection/source.ts';
import type { LIST_OUTCOMES } from '../../../../../shared/collection/sourceList.ts';
import type { StateDisplay } from './stateDisplay.ts';

// States of sources, events and lists of sources.

export const source: Record<SourceState, StateDisplay> = {
  new: { label: 'new', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not retrieved yet.' },
  available: {
    label: 'available',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'The last check retrieved the source.',
  },
  unavailable: {
    label: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several consecutive checks failed.',
  },
  gone: {
    label: 'gone',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The server reports that the resource no longer exists.',
  },
};

export const event: Record<EventType, StateDisplay> = {
  first_seen: {
    label: 'first seen',
    icon: IconCirclePlus,
    tone: 'accent',
    meaning: 'The source was retrieved for the first time.',
  },
  changed: {
    label: 'changed',
    icon: IconPencil,
    tone: 'warn',
    meaning: 'The content changed. Both versions are kept.',
  },
  unavailable: {
    label: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several consecutive checks failed.',
  },
  disappeared: {
    label: 'disappeared',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The server reported twice that the resource no longer exists.',
  },
  recovered: {
    label: 'recovered',
    icon: IconArrowBackUp,
    tone: 'good',
    meaning: 'The source can be retrieved again.',
  },
};

export const listed: Record<(typeof LIST_OUTCOMES)[number], StateDisplay> = {
  added: { label: 'added', icon: IconCirclePlus, tone: 'good', meaning: 'The source is now watched.' },
  already: {
    label: 'already watched',
    icon: IconEqual,
    tone: 'quiet',
    meaning: 'The source was already watched. It is unchanged.',
  },
  refused: {
    label: 'rejected',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The source was not added. The reason is shown next to it.',
  },
};

export const noise = {
  noise: {
    label: 'noise',
    icon: IconCircleDashed,
    tone: 'quiet',
    meaning: 'The noise rules explain the whole change.',
  },
  news: {
    label: 'change',
    icon: IconPencil,
    tone: 'warn',
    meaning: 'The change is not explained by any noise rule.',
  },
  unknown: {
    label: 'unknown',
    icon: IconQuestionMark,
    tone: 'quiet',
    meaning: 'The noise rules could not be applied to this change.',
  },
} as const satisfies Record<string, StateDisplay>;
