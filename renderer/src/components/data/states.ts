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

/** How a state is displayed: an icon, a label and a colour, never the colour alone, and an explanation. */
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
    meaning: 'The result supports the expectation.',
  },
  negative: {
    word: 'negative',
    icon: IconCircleMinus,
    tone: 'bad',
    meaning: 'The result contradicts the expectation.',
  },
  null: { word: 'null', icon: IconCircle, tone: 'quiet', meaning: 'No effect was found.' },
  mixed: {
    word: 'mixed',
    icon: IconCircleHalf2,
    tone: 'warn',
    meaning: 'The result supports the expectation in part.',
  },
};

const tag: Record<Tag, StateLook> = {
  replicable: {
    word: 'replicable',
    icon: IconRepeat,
    tone: 'accent',
    meaning: 'The pack includes a method, and the uploader states that it is complete.',
  },
  'report-only': {
    word: 'report-only',
    icon: IconFileText,
    tone: 'quiet',
    meaning:
      'The pack has no complete method. The result is reported but cannot be reproduced from this pack.',
  },
};

const verdict: Record<Verdict, StateLook> = {
  reproduced: {
    word: 'reproduced',
    icon: IconEqual,
    tone: 'good',
    meaning: 'The replication obtained the same result.',
  },
  partial: {
    word: 'partial',
    icon: IconAdjustments,
    tone: 'warn',
    meaning: 'The replication obtained part of the result.',
  },
  failed: {
    word: 'failed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The replication did not obtain the result.',
  },
};

const study: Record<StudyStatus, StateLook> = {
  planned: { word: 'planned', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not started.' },
  running: { word: 'running', icon: IconCircleDot, tone: 'accent', meaning: 'In progress.' },
  completed: { word: 'completed', icon: IconCircleCheck, tone: 'good', meaning: 'Completed.' },
  abandoned: { word: 'abandoned', icon: IconBan, tone: 'warn', meaning: 'Abandoned. It can be resumed.' },
};

const source: Record<SourceState, StateLook> = {
  new: { word: 'new', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not retrieved yet.' },
  available: {
    word: 'available',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'The last check retrieved the source.',
  },
  unavailable: {
    word: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several consecutive checks failed.',
  },
  gone: {
    word: 'gone',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The server reports that the resource no longer exists.',
  },
};

const event: Record<EventType, StateLook> = {
  first_seen: {
    word: 'first seen',
    icon: IconCirclePlus,
    tone: 'accent',
    meaning: 'The source was retrieved for the first time.',
  },
  changed: {
    word: 'changed',
    icon: IconPencil,
    tone: 'warn',
    meaning: 'The content changed. Both versions are kept.',
  },
  unavailable: {
    word: 'unavailable',
    icon: IconPlugConnectedX,
    tone: 'warn',
    meaning: 'Several consecutive checks failed.',
  },
  disappeared: {
    word: 'disappeared',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The server reported twice that the resource no longer exists.',
  },
  recovered: {
    word: 'recovered',
    icon: IconArrowBackUp,
    tone: 'good',
    meaning: 'The source can be retrieved again.',
  },
};

const job: Record<Job['state'], StateLook> = {
  running: { word: 'running', icon: IconClock, tone: 'accent', meaning: 'In progress.' },
  done: { word: 'done', icon: IconCircleCheck, tone: 'good', meaning: 'Done.' },
  failed: { word: 'failed', icon: IconCircleX, tone: 'bad', meaning: 'The job failed.' },
  cancelled: { word: 'cancelled', icon: IconBan, tone: 'quiet', meaning: 'The job was cancelled.' },
};

const listed: Record<(typeof LIST_OUTCOMES)[number], StateLook> = {
  added: { word: 'added', icon: IconCirclePlus, tone: 'good', meaning: 'The source is now watched.' },
  already: {
    word: 'already watched',
    icon: IconEqual,
    tone: 'quiet',
    meaning: 'The source was already watched. It is unchanged.',
  },
  refused: {
    word: 'rejected',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The source was not added. The reason is shown next to it.',
  },
};

const damage: Record<DamageProblem, StateLook> = {
  missing: {
    word: 'missing',
    icon: IconCircleDashed,
    tone: 'bad',
    meaning: 'The file is missing on disk.',
  },
  changed: {
    word: 'changed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The file on disk does not match its digest.',
  },
  unreadable: {
    word: 'unreadable',
    icon: IconBan,
    tone: 'bad',
    meaning: 'The disk cannot read the file.',
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
    word: 'running',
    icon: IconClock,
    tone: 'accent',
    meaning: 'The audit runs in small steps.',
  },
  broken_off: {
    word: 'incomplete',
    icon: IconCircleHalf2,
    tone: 'quiet',
    meaning: 'The audit did not finish. Its findings are recorded.',
  },
} as const satisfies Record<string, StateLook>;

const noise = {
  noise: {
    word: 'noise',
    icon: IconCircleDashed,
    tone: 'quiet',
    meaning: 'The noise rules explain the whole change.',
  },
  news: {
    word: 'change',
    icon: IconPencil,
    tone: 'warn',
    meaning: 'The change is not explained by any noise rule.',
  },
  unknown: {
    word: 'unknown',
    icon: IconQuestionMark,
    tone: 'quiet',
    meaning: 'The noise rules could not be applied to this change.',
  },
} as const satisfies Record<string, StateLook>;

const mark = {
  flagged: {
    word: 'flagged',
    icon: IconFlag,
    tone: 'warn',
    meaning: 'Someone has reported a problem with this pack.',
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
    meaning: 'A newer version exists.',
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
