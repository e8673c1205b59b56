import { watchesEvents } from '../../../shared/alerts/alert.ts';
import type { Event, LabelFilter, PageLabel } from '../../../shared/collection/event.ts';
import { type AlertRule, beginningOf } from '../../store/sqlite/node/alerts/rules.ts';
import { preparedWords, type Words } from './words.ts';

/** The facts of a source that rules match on. */
export interface MatchedSource {
  id: string;
  agency: string;
  tags: readonly string[];
}

/** A rule with its lists as sets, so that ten thousand events are compared with it in milliseconds. */
export interface CompiledRule {
  rule: AlertRule;
  isAboutEvents: boolean;
  /** Whether the versions have to be compared before an event of the right source and type matches. */
  words: Words | undefined;
  notNoise: boolean;
  matchesSource: (source: MatchedSource) => boolean;
  /** Whether the type, the source and the label of an event match. */
  mayMatch: (event: Event) => boolean;
}

export function compileRule(rule: AlertRule): CompiledRule {
  const { when } = rule;
  const [types, tags, agencies, sources] = [when.event_types, when.tags, when.agencies, when.sources].map(
    (list) => list && new Set<string>(list),
  );
  const labels = when.labels && new Set<LabelFilter>(when.labels);
  const { after_event } = beginningOf(rule, 'events');
  const matchesSource = ({ id, agency, tags: ofSource }: MatchedSource) =>
    (sources === undefined || sources.has(id)) &&
    (agencies === undefined || agencies.has(agency)) &&
    (tags === undefined || ofSource.some((tag) => tags.has(tag)));
  return {
    rule,
    isAboutEvents: watchesEvents(when),
    words: when.words && preparedWords(when.words),
    notNoise: when.not_noise === true,
    matchesSource,
    mayMatch: ({ id, event_type, source, page_label }) =>
      id > after_event &&
      (types === undefined || types.has(event_type)) &&
      (labels === undefined || hasLabel(labels, page_label)) &&
      matchesSource(source),
  };
}

function hasLabel(labels: ReadonlySet<LabelFilter>, label: PageLabel | null): boolean {
  return label ? labels.has('any') || labels.has(label.label) : labels.has('none');
}
