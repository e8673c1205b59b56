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
  IconMinus,
  IconPencil,
  IconPlugConnectedX,
  IconPlus,
  IconQuestionMark,
  IconRepeat,
  type TablerIcon,
} from '@tabler/icons-react';
import type { DeliveryState } from '../../../../shared/alerts/alert.ts';
import type { FileChange } from '../../../../shared/archive/packComparison.ts';
import type { ImportedFileState } from '../../../../shared/archive/recordImport.ts';
import type { StudyStatus } from '../../../../shared/archive/study.ts';
import type { Outcome, Tag, Verdict } from '../../../../shared/archive/vocabulary.ts';
import type { EventType } from '../../../../shared/collection/event.ts';
import { EVENT_TEXT } from '../../../../shared/collection/eventText.ts';
import type { LIST_OUTCOMES, SourceState } from '../../../../shared/collection/source.ts';
import type { DamageProblem } from '../../../../shared/ledger/fixity.ts';
import type { Job } from '../../../../shared/node/job.ts';

// States of packs, studies and their files.

const outcome: Record<Outcome, StateDisplay> = {
  positive: {
    label: 'positive',
    icon: IconCirclePlus,
    tone: 'good',
    meaning: 'The result supports the expectation.',
  },
  negative: {
    label: 'negative',
    icon: IconCircleMinus,
    tone: 'bad',
    meaning: 'The result contradicts the expectation.',
  },
  null: { label: 'null', icon: IconCircle, tone: 'quiet', meaning: 'No effect was found.' },
  mixed: {
    label: 'mixed',
    icon: IconCircleHalf2,
    tone: 'warn',
    meaning: 'The result partly supports the expectation.',
  },
};

const tag: Record<Tag, StateDisplay> = {
  replicable: {
    label: 'replicable',
    icon: IconRepeat,
    tone: 'accent',
    meaning: 'The pack includes a method, and the uploader states that it is complete.',
  },
  'report-only': {
    label: 'report-only',
    icon: IconFileText,
    tone: 'quiet',
    meaning:
      'The pack has no complete method. The result is reported but cannot be reproduced from this pack.',
  },
};

const verdict: Record<Verdict, StateDisplay> = {
  reproduced: {
    label: 'reproduced',
    icon: IconEqual,
    tone: 'good',
    meaning: 'The replication obtained the same result.',
  },
  partial: {
    label: 'partial',
    icon: IconAdjustments,
    tone: 'warn',
    meaning: 'The replication obtained part of the result.',
  },
  failed: {
    label: 'failed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The replication did not obtain the result.',
  },
};

const study: Record<StudyStatus, StateDisplay> = {
  planned: { label: 'planned', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not started.' },
  running: { label: 'running', icon: IconCircleDot, tone: 'accent', meaning: 'In progress.' },
  completed: { label: 'completed', icon: IconCircleCheck, tone: 'good', meaning: 'Completed.' },
  abandoned: { label: 'abandoned', icon: IconBan, tone: 'warn', meaning: 'Abandoned. It can be resumed.' },
};

const fileChange = {
  added: { label: 'added', icon: IconPlus, tone: 'good', meaning: 'Only the newer version has this file.' },
  changed: {
    label: 'changed',
    icon: IconPencil,
    tone: 'accent',
    meaning: 'Both versions have this file, with different contents.',
  },
  removed: {
    label: 'removed',
    icon: IconMinus,
    tone: 'bad',
    meaning: 'Only the older version has this file.',
  },
  same: {
    label: 'same',
    icon: IconEqual,
    tone: 'quiet',
    meaning: 'Both versions have this file, with the same contents.',
  },
} as const satisfies Record<FileChange, StateDisplay>;

// States of sources, events and lists of sources.

const source: Record<SourceState, StateDisplay> = {
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

function eventState(type: EventType, icon: StateDisplay['icon'], tone: StateDisplay['tone']): StateDisplay {
  const { name, meaning } = EVENT_TEXT[type];
  return { label: name.toLowerCase(), icon, tone, meaning };
}

const event: Record<EventType, StateDisplay> = {
  first_seen: eventState('first_seen', IconCirclePlus, 'accent'),
  changed: eventState('changed', IconPencil, 'warn'),
  unavailable: eventState('unavailable', IconPlugConnectedX, 'warn'),
  disappeared: eventState('disappeared', IconCircleX, 'bad'),
  recovered: eventState('recovered', IconArrowBackUp, 'good'),
};

const listed: Record<(typeof LIST_OUTCOMES)[number], StateDisplay> = {
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

const imported: Record<ImportedFileState | 'planned', StateDisplay> = {
  planned: {
    label: 'will come',
    icon: IconCirclePlus,
    tone: 'quiet',
    meaning: 'The file will be fetched and compared with the checksum that the repository states.',
  },
  held: {
    label: 'in the draft',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'The file is in the draft, as the repository states it.',
  },
  mismatch: {
    label: 'not as stated',
    icon: IconCircleX,
    tone: 'bad',
    meaning:
      'What the repository sent is not what it states. It is kept as evidence, and is not in the draft.',
  },
  too_large: {
    label: 'does not fit',
    icon: IconCircleMinus,
    tone: 'warn',
    meaning: 'The draft has no room for the file.',
  },
  failed: {
    label: 'not fetched',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The file did not come. The reason is said above.',
  },
};

const noise = {
  noise: {
    label: 'noise',
    icon: IconCircleDashed,
    tone: 'quiet',
    meaning: 'The noise rules explain the entire change.',
  },
  outside: {
    label: 'outside',
    icon: IconCircleDashed,
    tone: 'quiet',
    meaning: 'Nothing changed in the watched part.',
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

// States of jobs and stored objects, and marks.

const job: Record<Job['state'], StateDisplay> = {
  running: { label: 'running', icon: IconClock, tone: 'accent', meaning: 'In progress.' },
  done: { label: 'done', icon: IconCircleCheck, tone: 'good', meaning: 'Done.' },
  failed: { label: 'failed', icon: IconCircleX, tone: 'bad', meaning: 'The job failed.' },
  cancelled: { label: 'cancelled', icon: IconBan, tone: 'quiet', meaning: 'The job was cancelled.' },
};

const delivery: Record<DeliveryState, StateDisplay> = {
  waiting: {
    label: 'waiting',
    icon: IconClock,
    tone: 'quiet',
    meaning: 'It will be sent as soon as possible.',
  },
  sending: {
    label: 'sending',
    icon: IconCircleHalf2,
    tone: 'accent',
    meaning: 'The message is being sent.',
  },
  sent: { label: 'sent', icon: IconCircleCheck, tone: 'good', meaning: 'The receiver accepted it.' },
  failed: {
    label: 'failed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'It was not sent, or it is unknown whether it was sent.',
  },
};

const damage: Record<DamageProblem, StateDisplay> = {
  missing: {
    label: 'missing',
    icon: IconCircleDashed,
    tone: 'bad',
    meaning: 'The file is missing on disk.',
  },
  changed: {
    label: 'changed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'The file on disk does not match its digest.',
  },
  unreadable: {
    label: 'unreadable',
    icon: IconBan,
    tone: 'bad',
    meaning: 'The disk cannot read the file.',
  },
};

const audit = {
  complete: {
    label: 'complete',
    icon: IconCircleCheck,
    tone: 'good',
    meaning: 'Every object was read and hashed.',
  },
  running: {
    label: 'running',
    icon: IconClock,
    tone: 'accent',
    meaning: 'The integrity check runs in small steps.',
  },
  broken_off: {
    label: 'incomplete',
    icon: IconCircleHalf2,
    tone: 'quiet',
    meaning: 'The integrity check did not finish. Its results so far are recorded.',
  },
} as const satisfies Record<string, StateDisplay>;

const mark = {
  flagged: {
    label: 'flagged',
    icon: IconFlag,
    tone: 'warn',
    meaning: 'Someone has reported a problem with this pack.',
  },
  captures_only: {
    label: 'captures only',
    icon: IconFileText,
    tone: 'quiet',
    meaning: 'Its versions were captured by others. This node has never fetched it.',
  },
  paused: {
    label: 'paused',
    icon: IconClockPause,
    tone: 'quiet',
    meaning: 'Not checked until it is resumed.',
  },
  superseded: {
    label: 'superseded',
    icon: IconArrowBackUp,
    tone: 'quiet',
    meaning: 'A newer version exists.',
  },
} as const satisfies Record<string, StateDisplay>;

export const STATES = {
  outcome,
  tag,
  verdict,
  study,
  source,
  event,
  job,
  delivery,
  listed,
  imported,
  damage,
  audit,
  noise,
  mark,
  fileChange,
};
export type StateKind = keyof typeof STATES;
export type StateValue<Kind extends StateKind> = keyof (typeof STATES)[Kind] & string;

type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** How a state is displayed: an icon, a label and a colour, never the colour alone, and an explanation. */
export interface StateDisplay {
  label: string;
  icon: TablerIcon;
  tone: Tone;
  meaning: string;
}
