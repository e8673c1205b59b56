import {
  IconAdjustments,
  IconBan,
  IconCircle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleDot,
  IconCircleHalf2,
  IconCircleMinus,
  IconCirclePlus,
  IconCircleX,
  IconEqual,
  IconFileText,
  IconMinus,
  IconPencil,
  IconPlus,
  IconRepeat,
} from '@tabler/icons-react';
import type { FileChange } from '../../../../../shared/archive/packComparison.ts';
import type { StudyStatus } from '../../../../../shared/archive/study.ts';
import type { Outcome, Tag, Verdict } from '../../../../../shared/archive/vocabulary.ts';
import type { StateDisplay } from './stateDisplay.ts';

// States of packs, studies and their files.

export const outcome: Record<Outcome, StateDisplay> = {
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
    meaning: 'The result supports the expectation in part.',
  },
};

export const tag: Record<Tag, StateDisplay> = {
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

export const verdict: Record<Verdict, StateDisplay> = {
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

export const study: Record<StudyStatus, StateDisplay> = {
  planned: { label: 'planned', icon: IconCircleDashed, tone: 'quiet', meaning: 'Not started.' },
  running: { label: 'running', icon: IconCircleDot, tone: 'accent', meaning: 'In progress.' },
  completed: { label: 'completed', icon: IconCircleCheck, tone: 'good', meaning: 'Completed.' },
  abandoned: { label: 'abandoned', icon: IconBan, tone: 'warn', meaning: 'Abandoned. It can be resumed.' },
};

export const fileChange = {
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
