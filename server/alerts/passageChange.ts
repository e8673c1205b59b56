import { BROWSER, type Event, SELF } from '../../shared/collection/event.ts';
import { passagesBefore } from '../findings/passages.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { startPositionOf } from '../store/sqlite/node/alerts.ts';
import type { Store } from '../store/store.ts';
import { OWNER, unreadable } from '../withholding/withholding.ts';
import type { ChangeReader } from './changeReader.ts';
import type { CompiledRule } from './matching/matchStates.ts';
import type { Match } from './queue.ts';

/** Returns the matches of an event for the passages that its source had before and has no longer as they were. */
export async function matchPassages(
  { read }: Pick<Store, 'read'>,
  rules: readonly CompiledRule[],
  event: Event,
  { reader, signal }: { reader: ChangeReader; signal: AbortSignal },
): Promise<Match[]> {
  const { id, event_type, observer, observed_at, source } = event;
  if (event_type !== 'changed' || (observer !== SELF && observer !== BROWSER)) return [];
  const asking = rules.filter(
    ({ rule, matchesSource }) =>
      rule.when.passage_changed &&
      id > startPositionOf(rule, 'passage_changed').after_event &&
      matchesSource(source),
  );
  if (asking.length === 0) return [];
  const matches: Match[] = [];
  for (const { id: finding, passage } of passagesBefore(read, event)) {
    // Of bytes that were given up, nothing can be said.
    if (unreadable(read, passage.sha256, OWNER)) continue;
    if (!(await reader.passageChange(passage, event, signal))) continue;
    // The words are written into the message when it is sent, if they may be read then.
    const notice = {
      kind: 'passage_changed' as const,
      at: observed_at,
      event: id,
      title: null,
      text: null,
      path: `/findings?q=${finding}`,
      finding,
      source: { id: source.id, url: source.url, name: source.name },
    };
    for (const { rule } of asking)
      matches.push({ rule: rule.id, subject: `passage_changed:${finding}:${id}`, notice });
    await yieldToEventLoop();
  }
  return matches;
}
