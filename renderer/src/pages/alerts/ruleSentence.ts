import type { Alert, AlertTarget, AlertWhen } from '../../../../shared/alerts/alert.ts';
import { watchesEvents } from '../../../../shared/alerts/alert.ts';
import type { EventType, LabelFilter } from '../../../../shared/collection/event.ts';

/** A rule as far as the form knows it. */
export interface SaidRule {
  when: AlertWhen;
  to: readonly Pick<AlertTarget & { address?: string; url?: string }, 'kind' | 'address' | 'url'>[];
  every: Alert['every'];
}

/** What a source did, for each type of event. */
export const EVENT_WORDS: Record<EventType, string> = {
  first_seen: 'is seen for the first time',
  changed: 'changes',
  unavailable: 'cannot be reached',
  disappeared: 'disappears',
  recovered: 'is back',
};

/** What the rules of quality say of a version. */
const LABEL_WORDS: Record<LabelFilter, string> = {
  none: 'has no warning',
  any: 'has a warning',
  bot_wall: 'looks like a bot check',
  rate_limit: 'looks like a rate limit',
  error_page: 'looks like an error page',
  script_shell: 'is made by scripts',
};

/** The conditions other than events, as the end of “when …”. */
export const STATE_WORDS = {
  failures: 'a check of a source fails',
  drift: 'what a pack relates to changes, vanishes or comes back',
  damaged: 'a stored object is damaged',
  peer_rewritten: 'a peer rewrites its ledger',
  disk: 'the disk or the archive is full',
  copy_behind: 'a copy falls behind',
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
  const pace = { at_once: 'At once', hourly: 'Every hour', daily: 'Every morning' }[every];
  const targets = joined(to.map(targetWords), 'and');
  return `${pace}, ${targets || 'nobody yet'}, when ${joined([...events, ...states], 'or')}.`;
}

function eventWords({ event_types, words, labels, not_noise }: AlertWhen, sources: string): string {
  const types = event_types ?? [];
  const what =
    types.length === 0
      ? 'has any event'
      : joined(
          types.map((type) => EVENT_WORDS[type]),
          'or',
        );
  const text = words ? `, with ${joined(words.map(quoted), 'or')} in what was added or removed` : '';
  const page = labels
    ? `, with a page that ${joined(
        labels.map((label) => LABEL_WORDS[label]),
        'or',
      )}`
    : '';
  return `${sources} ${what}${text}${page}${not_noise ? ', other than noise' : ''}`;
}

function sourceWords({ sources, tags, agencies }: AlertWhen, nameOf: (source: string) => string): string {
  const base = sources ? joined(sources.map(nameOf), 'or') : 'a source';
  const tagged = tags ? ` with the tag ${joined(tags.map(quoted), 'or')}` : '';
  const by = agencies ? ` of ${joined(agencies, 'or')}` : '';
  return `${base}${tagged}${by}`;
}

export function targetWords({ kind, address = '', url = '' }: SaidRule['to'][number]): string {
  if (kind === 'desktop') return 'a notification on the desktop';
  return kind === 'email' ? `an e-mail to ${address}` : `a call of ${url}`;
}

function quoted(text: string): string {
  return `“${text}”`;
}

function joined(parts: readonly string[], word: 'and' | 'or'): string {
  const some = parts.filter(Boolean);
  if (some.length < 2) return some[0] ?? '';
  return `${some.slice(0, -1).join(', ')} ${word} ${some.at(-1)}`;
}
