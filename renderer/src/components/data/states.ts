import {
  IconAdjustments,
  IconArrowBackUp,
  IconBan,
  IconCircle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleDot,
  IconCircleHalf2,
  IconCircleMinus,
  IconCirclePlus,
  IconCircleX,
  IconClock,
  IconClockPause,
  IconEqual,
  IconFileText,
  IconFlag,
  IconPencil,
  IconPlugConnectedX,
  IconQuestionMark,
  IconRepeat,
  type TablerIcon,
} from '@tabler/icons-react';
import type { EventType } from '../../../../shared/event.ts';
import type { DamageProblem } from '../../../../shared/fixity.ts';
import type { Job } from '../../../../shared/job.ts';
import type { SourceState } from '../../../../shared/source.ts';
import type { LIST_OUTCOMES } from '../../../../shared/sourceList.ts';
import type { StudyStatus } from '../../../../shared/study.ts';
import type { Outcome, Tag, Verdict } from '../../../../shared/vocabulary.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** How one state is shown: a shape, a word and a colour, never the colour alone; and what it means. */
export interface StateLook {
  word: string;
  icon: TablerIcon;
  tone: Tone;
  meaning: string;
}

const outcome: Record<Outcome, StateLook> = {
  positive: {
    word: 'positive',
    icon: IconCirclePlus,
    tone: 'good',
    meaning: 'What was expected was found.',
  },
  negative: {
    word: 'negative',
    icon: IconCircleMinus,
    tone: 'bad',
    meaning: 'The opposite of what was expected was found.',
  },
  null: { word: 'null', icon: IconCircle, tone: 'quiet', meaning: 'No effect was found.' },
  mixed: {
    word: 'mixed',
    icon: IconCircleHalf2,
    tone: 'warn',
    meaning: 'Some of what was expected was found and some was not.',
  },
};

const tag: Record<Tag, StateLook> = {
  replicable: {
    word: 'replicable',
    icon: IconRepeat,
    tone: 'accent',
    meaning: 'A method is given, and the uploader claims that it is complete.',
  },
  'report-only': {
    word: 'report-only',
    icon: IconFileText,
    tone: 'quiet',
    meaning: 'There is no complete method: the result is reported and cannot be checked by running it again.',
  },
};

const verdict: Record<Verdict, StateLook> = {
  reproduced: {
    word: 'reproduced',
    icon: IconEqual,
    tone: 'good',
    meaning: 'The replication found the same result.',
  },
  partial: {
    word: 'partial',
    icon: IconAdjustments,
    tone: 'warn',
    meaning: 'The replication found a part of the result.',
  },
  failed: {
    word: 'failed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The replication did not find the result.',
  },
};

const study: Record<StudyStatus, StateLook> = {
  planned: { word: 'planned', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not begun yet.' },
  running: { word: 'running', icon: IconCircleDot, tone: 'accent', meaning: 'Under way.' },
  completed: { word: 'completed', icon: IconCircleCheck, tone: 'good', meaning: 'Done.' },
  abandoned: { word: 'abandoned', icon: IconBan, tone: 'warn', meaning: 'Given up; it can be resumed.' },
};

const source: Record<SourceState, StateLook> = {
  new: { word: 'new', icon: IconCircleDashed, tone: 'quiet', meaning: 'Nothing has been retrieved yet.' },
  available: {
    word: 'available',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'The last checks gave an object.',
  },
  unavailable: {
    word: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several checks in a row failed.',
  },
  gone: {
    word: 'gone',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The address answers that there is nothing any more.',
  },
};

const event: Record<EventType, StateLook> = {
  first_seen: {
    word: 'first seen',
    icon: IconCirclePlus,
    tone: 'accent',
    meaning: 'The source gave an object for the first time.',
  },
  changed: {
    word: 'changed',
    icon: IconPencil,
    tone: 'warn',
    meaning: 'The source gave other bytes than before; both versions are kept.',
  },
  unavailable: {
    word: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several checks in a row failed.',
  },
  disappeared: {
    word: 'disappeared',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The address answered twice that there is nothing any more.',
  },
  recovered: {
    word: 'recovered',
    icon: IconArrowBackUp,
    tone: 'good',
    meaning: 'The source gives an object again.',
  },
};

const job: Record<Job['state'], StateLook> = {
  running: { word: 'running', icon: IconClock, tone: 'accent', meaning: 'Under way.' },
  done: { word: 'done', icon: IconCircleCheck, tone: 'good', meaning: 'Done.' },
  failed: { word: 'failed', icon: IconCircleX, tone: 'bad', meaning: 'It could not be done.' },
  cancelled: { word: 'cancelled', icon: IconBan, tone: 'quiet', meaning: 'It was stopped.' },
};

const listed: Record<(typeof LIST_OUTCOMES)[number], StateLook> = {
  added: { word: 'added', icon: IconCirclePlus, tone: 'good', meaning: 'It is watched from now on.' },
  already: {
    word: 'already there',
    icon: IconEqual,
    tone: 'quiet',
    meaning: 'It was watched before and stays as it is.',
  },
  refused: {
    word: 'refused',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'It was not added; the reason is beside it.',
  },
};

const damage: Record<DamageProblem, StateLook> = {
  missing: {
    word: 'missing',
    icon: IconCircleDashed,
    tone: 'bad',
    meaning: 'There is no file where its bytes should be.',
  },
  changed: {
    word: 'changed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'Its file holds other bytes than were stored.',
  },
  unreadable: {
    word: 'unreadable',
    icon: IconBan,
    tone: 'bad',
    meaning: 'The disk does not give its bytes.',
  },
};

const audit = {
  complete: {
    word: 'complete',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'Every object was read and hashed.',
  },
  running: {
    word: 'under way',
    icon: IconClock,
    tone: 'accent',
    meaning: 'It goes on, a little now and then.',
  },
  broken_off: {
    word: 'broken off',
    icon: IconCircleHalf2,
    tone: 'quiet',
    meaning: 'It did not come to its end; what it found is recorded.',
  },
} as const satisfies Record<string, StateLook>;

const noise = {
  noise: {
    word: 'noise',
    icon: IconCircleDashed,
    tone: 'quiet',
    meaning: 'The rules explain all that changed.',
  },
  news: { word: 'news', icon: IconPencil, tone: 'warn', meaning: 'Something changed that no rule names.' },
  unknown: {
    word: 'not known',
    icon: IconQuestionMark,
    tone: 'quiet',
    meaning: 'The rules could not be applied to this change.',
  },
} as const satisfies Record<string, StateLook>;

const mark = {
  flagged: {
    word: 'flagged',
    icon: IconFlag,
    tone: 'warn',
    meaning: 'Somebody says that something is wrong with it.',
  },
  paused: {
    word: 'paused',
    icon: IconClockPause,
    tone: 'quiet',
    meaning: 'Not checked until it is resumed.',
  },
  superseded: {
    word: 'superseded',
    icon: IconArrowBackUp,
    tone: 'quiet',
    meaning: 'There is a newer version of it.',
  },
} as const satisfies Record<string, StateLook>;

export const STATES = {
  outcome,
  tag,
  verdict,
  study,
  source,
  event,
  job,
  listed,
  damage,
  audit,
  noise,
  mark,
};
export type StateKind = keyof typeof STATES;
export type StateValue<Kind extends StateKind> = keyof (typeof STATES)[Kind] & string;
