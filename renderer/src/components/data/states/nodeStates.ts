import {
  IconArrowBackUp,
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleHalf2,
  IconCircleX,
  IconClock,
  IconClockPause,
  IconFileText,
  IconFlag,
} from '@tabler/icons-react';
import type { DeliveryState } from '../../../../../shared/alerts/delivery.ts';
import type { DamageProblem } from '../../../../../shared/ledger/fixity.ts';
import type { Job } from '../../../../../shared/node/job.ts';
import type { StateDisplay } from './stateDisplay.ts';

// States of jobs and stored objects, and marks.

export const job: Record<Job['state'], StateDisplay> = {
  running: { label: 'running', icon: IconClock, tone: 'accent', meaning: 'In progress.' },
  done: { label: 'done', icon: IconCircleCheck, tone: 'good', meaning: 'Done.' },
  failed: { label: 'failed', icon: IconCircleX, tone: 'bad', meaning: 'The job failed.' },
  cancelled: { label: 'cancelled', icon: IconBan, tone: 'quiet', meaning: 'The job was cancelled.' },
};

export const delivery: Record<DeliveryState, StateDisplay> = {
  waiting: { label: 'waiting', icon: IconClock, tone: 'quiet', meaning: 'It is sent as soon as possible.' },
  sending: {
    label: 'sending',
    icon: IconCircleHalf2,
    tone: 'accent',
    meaning: 'The text is being handed over.',
  },
  sent: { label: 'sent', icon: IconCircleCheck, tone: 'good', meaning: 'The receiver accepted it.' },
  failed: {
    label: 'failed',
    icon: IconCircleX,
    tone: 'bad',
    meaning: 'It was not sent, or nobody knows whether it was.',
  },
};

export const damage: Record<DamageProblem, StateDisplay> = {
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

export const audit = {
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
    meaning: 'The integrity check did not finish. Its findings are recorded.',
  },
} as const satisfies Record<string, StateDisplay>;

export const mark = {
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
    meaning: 'Others captured its versions. This node has never fetched it.',
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
