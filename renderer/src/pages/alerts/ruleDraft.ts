import {
  type Alert,
  type AlertPace,
  type AlertWhen,
  type NewAlert,
  newAlertSchema,
  STATE_CONDITIONS,
  watchesEvents,
} from '../../../../shared/alerts/alert.ts';
import { EVENT_TYPES, type EventType, type LabelFilter } from '../../../../shared/collection/event.ts';

export type StateCondition = (typeof STATE_CONDITIONS)[number];

/** A rule in the form. */
export interface RuleDraft {
  name: string;
  event_types: EventType[];
  tags: string[];
  agencies: string[];
  sources: string[];
  words: string[];
  labels: LabelFilter[];
  not_noise: boolean;
  states: StateCondition[];
  desktop: boolean;
  addresses: string[];
  urls: string[];
  allow_private: boolean;
  every: AlertPace;
}

export const EMPTY_DRAFT: RuleDraft = {
  name: '',
  event_types: ['changed', 'unavailable', 'disappeared', 'recovered'],
  tags: [],
  agencies: [],
  sources: [],
  words: [],
  labels: [],
  not_noise: true,
  states: [],
  desktop: false,
  addresses: [],
  urls: [],
  allow_private: false,
  every: 'at_once',
};

export function draftOf({ name, when, to, every }: Alert): RuleDraft {
  return {
    name,
    event_types: watchesEvents(when) ? (when.event_types ?? [...EVENT_TYPES]) : [],
    tags: when.tags ?? [],
    agencies: when.agencies ?? [],
    sources: when.sources ?? [],
    words: when.words ?? [],
    labels: when.labels ?? [],
    not_noise: when.not_noise ?? false,
    states: STATE_CONDITIONS.filter((condition) => when[condition]),
    desktop: to.some(({ kind }) => kind === 'desktop'),
    addresses: to.flatMap((target) => (target.kind === 'email' ? [target.address] : [])),
    urls: to.flatMap((target) => (target.kind === 'webhook' ? [target.url] : [])),
    allow_private: to.some((target) => target.kind === 'webhook' && target.allow_private),
    every,
  };
}

export function whenOf(draft: RuleDraft): AlertWhen {
  const filled = <Item>(list: Item[]) => (list.length > 0 ? list : undefined);
  const when: AlertWhen = {
    event_types: filled(draft.event_types),
    tags: filled(draft.tags),
    agencies: filled(draft.agencies),
    sources: filled(draft.sources),
    words: draft.event_types.length > 0 ? filled(draft.words) : undefined,
    labels: draft.event_types.length > 0 ? filled(draft.labels) : undefined,
    not_noise: draft.not_noise || undefined,
    ...Object.fromEntries(draft.states.map((condition) => [condition, true])),
  };
  return Object.fromEntries(Object.entries(when).filter(([, value]) => value !== undefined));
}

export function bodyOf(draft: RuleDraft): Omit<NewAlert, 'paused'> {
  const { name, desktop, addresses, urls, allow_private, every } = draft;
  return {
    name: name.trim(),
    when: whenOf(draft),
    to: [
      ...(desktop ? [{ kind: 'desktop' as const }] : []),
      ...addresses.map((address) => ({ kind: 'email' as const, address })),
      ...urls.map((url) => ({ kind: 'webhook' as const, url, allow_private })),
    ],
    every,
  };
}

/** The errors of a draft by the field of the form. */
export function faultsOf(draft: RuleDraft): Partial<Record<keyof RuleDraft, string>> {
  const faults: Partial<Record<keyof RuleDraft, string>> = {};
  if (draft.event_types.length + draft.states.length === 0)
    faults.event_types = 'Choose at least one thing to be alerted about.';
  const body = bodyOf(draft);
  for (const { path, message } of newAlertSchema.safeParse(body).error?.issues ?? [])
    faults[fieldAt(body, path)] ??= message;
  return faults;
}

/** The field of the form that holds what a path in the request is about. */
export function fieldAt(body: Pick<NewAlert, 'to'>, path: readonly PropertyKey[]): keyof RuleDraft {
  const [first, second] = path;
  if (first === 'to') {
    const kind = typeof second === 'number' ? body.to[second]?.kind : undefined;
    return kind === 'webhook' ? 'urls' : 'addresses';
  }
  if (first === 'when' && typeof second === 'string' && second in EMPTY_DRAFT)
    return second as keyof RuleDraft;
  return first === 'every' ? 'every' : 'name';
}
