import {
  type Alert,
  type AlertPace,
  type AlertTarget,
  type AlertWhen,
  type NewAlert,
  newAlertSchema,
  STATE_CONDITIONS,
  watchesEvents,
} from '../../../../shared/alerts/alert.ts';
import { EVENT_TYPES, type EventType, type LabelFilter } from '../../../../shared/collection/event.ts';
import { EVENT_TEXT } from '../../../../shared/collection/eventText.ts';

type StateCondition = (typeof STATE_CONDITIONS)[number];

/** A rule in the form. */
export interface RuleDraft {
  name: string;
  event_types: EventType[];
  tags: string[];
  agencies: string[];
  sources: string[];
  words: string[];
  appears: string[];
  disappears: string[];
  pattern: string;
  /** Numbers as text; empty: none. */
  above: string;
  below: string;
  changed_by: string;
  confirm: boolean;
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
  appears: [],
  disappears: [],
  pattern: '',
  above: '',
  below: '',
  changed_by: '',
  confirm: false,
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
    appears: when.appears ?? [],
    disappears: when.disappears ?? [],
    pattern: when.pattern ?? '',
    above: String(when.number?.above ?? ''),
    below: String(when.number?.below ?? ''),
    changed_by: String(when.number?.changed_by ?? ''),
    confirm: when.confirm ?? false,
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
  const isAboutEvents = draft.event_types.length > 0;
  const when: AlertWhen = {
    event_types: filled(draft.event_types),
    tags: filled(draft.tags),
    agencies: filled(draft.agencies),
    sources: filled(draft.sources),
    ...(isAboutEvents && {
      words: filled(draft.words),
      number: numberOf(draft),
      pattern: draft.pattern || undefined,
      appears: filled(draft.appears),
      disappears: filled(draft.disappears),
      confirm: draft.confirm || undefined,
      labels: filled(draft.labels),
    }),
    not_noise: draft.not_noise || undefined,
    ...Object.fromEntries(draft.states.map((condition) => [condition, true])),
  };
  return Object.fromEntries(Object.entries(when).filter(([, value]) => value !== undefined));
}

function numberOf({ above, below, changed_by }: RuleDraft): AlertWhen['number'] {
  const given = Object.entries({ above, below, changed_by }).filter(([, typed]) => typed.trim() !== '');
  if (given.length === 0) return undefined;
  return Object.fromEntries(given.map(([name, typed]) => [name, Number(typed)]));
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
export function validateRule(draft: RuleDraft): Partial<Record<keyof RuleDraft, string>> {
  const errors: Partial<Record<keyof RuleDraft, string>> = {};
  if (draft.event_types.length + draft.states.length === 0)
    errors.event_types = 'Choose at least one thing to be alerted about.';
  const body = bodyOf(draft);
  for (const { path, message } of newAlertSchema.safeParse(body).error?.issues ?? [])
    errors[fieldAt(body, path)] ??= message;
  return errors;
}

/** The field of the form that holds what a path in the request is about. */
export function fieldAt(body: Pick<NewAlert, 'to'>, path: readonly PropertyKey[]): keyof RuleDraft {
  const [first, second] = path;
  if (first === 'to') {
    const kind = typeof second === 'number' ? body.to[second]?.kind : undefined;
    return kind === 'webhook' ? 'urls' : 'addresses';
  }
  if (first === 'when') {
    if (STATE_CONDITIONS.some((condition) => condition === second)) return 'states';
    if (second === 'number') return path[2] === 'below' || path[2] === 'changed_by' ? path[2] : 'above';
    return typeof second === 'string' && second in EMPTY_DRAFT ? (second as keyof RuleDraft) : 'event_types';
  }
  return first === 'every' ? 'every' : 'name';
}

/** A rule as far as the form knows it. */
interface SaidRule {
  when: AlertWhen;
  to: readonly Pick<AlertTarget & { address?: string; url?: string }, 'kind' | 'address' | 'url'>[];
  every: Alert['every'];
}

/** What the rules of quality say of a version. */
const LABEL_WORDS: Record<LabelFilter, string> = {
  none: 'has no warning',
  any: 'has a warning',
  bot_wall: 'looks like a bot check',
  rate_limit: 'looks like a rate limit',
  error_page: 'looks like an error page',
  script_shell: 'is built by scripts',
  outside: 'is the same in the watched part',
};

/** The conditions other than events, as the end of “when …”. */
export const STATE_WORDS = {
  failures: 'a check of a source fails',
  drift: 'a related work of a pack changes, disappears or returns',
  damaged: 'a stored object is damaged',
  peer_rewritten: 'a peer rewrites its ledger',
  profile_expired: 'a site no longer accepts a login',
  watch_lost: 'the watched part of a source is gone',
  passage_changed: 'a passage that a finding quotes changes or is gone',
  disk: 'the disk or the archive is full',
  copy_behind: 'a copy is out of date',
  drill_failed: 'a restore test fails',
} as const;

/** Says what a rule does in one sentence. `nameOf` gives the name of a source. */
export function ruleSentence({ when, to, every }: SaidRule, nameOf: (source: string) => string): string {
  const sources = sourceWords(when, nameOf);
  const events = watchesEvents(when) ? [eventWords(when, sources)] : [];
  const states = Object.entries(STATE_WORDS).flatMap(([name, words]) =>
    when[name as keyof typeof STATE_WORDS]
      ? [name === 'failures' ? words.replace('a source', sources) : words]
      : [],
  );
  const pace = { at_once: 'Immediately', hourly: 'Every hour', daily: 'Every morning' }[every];
  const targets = joined(to.map(targetWords), 'and');
  return `${pace}, ${targets || 'nobody yet'}, when ${joined([...events, ...states], 'or')}.`;
}

function eventWords(when: AlertWhen, sources: string): string {
  const { event_types, words, labels, not_noise, confirm } = when;
  const types = event_types ?? [];
  const what =
    types.length === 0
      ? 'has any event'
      : joined(
          types.map((type) => EVENT_TEXT[type].happens),
          'or',
        );
  const text = words ? `, with ${joined(words.map(quoted), 'or')} in what was added or removed` : '';
  const page = labels
    ? `, with a page that ${joined(
        labels.map((label) => LABEL_WORDS[label]),
        'or',
      )}`
    : '';
  const conditions = joined(conditionWords(when), 'and');
  const within = conditions && `, if in what is watched ${conditions}`;
  const again = confirm ? ', confirmed after 30 seconds' : '';
  return `${sources} ${what}${text}${page}${not_noise ? ', other than noise' : ''}${within}${again}`;
}

function conditionWords({ number, pattern, appears, disappears }: AlertWhen): string[] {
  const { above, below, changed_by } = number ?? {};
  return [
    above === undefined ? '' : `the first number is above ${above}`,
    below === undefined ? '' : `the first number is below ${below}`,
    changed_by === undefined ? '' : `the first number changes by at least ${changed_by}`,
    pattern === undefined ? '' : `the pattern ${quoted(pattern)} matches something new`,
    appears ? `${joined(appears.map(quoted), 'or')} appears` : '',
    disappears ? `${joined(disappears.map(quoted), 'or')} disappears` : '',
  ].filter(Boolean);
}

function sourceWords({ sources, tags, agencies }: AlertWhen, nameOf: (source: string) => string): string {
  const base = sources ? joined(sources.map(nameOf), 'or') : 'a source';
  const tagged = tags ? ` with the tag ${joined(tags.map(quoted), 'or')}` : '';
  const by = agencies ? ` from ${joined(agencies, 'or')}` : '';
  return `${base}${tagged}${by}`;
}

export function targetWords({ kind, address = '', url = '' }: SaidRule['to'][number]): string {
  if (kind === 'desktop') return 'a desktop notification';
  return kind === 'email' ? `an e-mail to ${address}` : `a webhook request to ${url}`;
}

function quoted(text: string): string {
  return `“${text}”`;
}

function joined(parts: readonly string[], word: 'and' | 'or'): string {
  const some = parts.filter(Boolean);
  if (some.length < 2) return some[0] ?? '';
  return `${some.slice(0, -1).join(', ')} ${word} ${some.at(-1)}`;
}
