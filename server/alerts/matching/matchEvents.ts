import { type Event, SELF } from '../../../shared/collection/event.ts';
import type { Notice } from '../../store/sqlite/node/alerts/notices.ts';
import type { ChangeReader } from '../changeReader.ts';
import type { Match } from '../queue.ts';
import type { CompiledRule } from './compiledRule.ts';

/**
 * Returns which rules match an event. Only what the node saw itself counts: what others captured may be years old. The
 * versions are compared only if a rule that matches otherwise asks for words or for what is not noise.
 *
 * @throws Problem `shutting_down`; the signal's reason
 */
export async function matchEvent(
  rules: readonly CompiledRule[],
  event: Event,
  reader: ChangeReader,
  signal: AbortSignal,
): Promise<Match[]> {
  if (event.observer !== SELF) return [];
  const matches: Match[] = [];
  for (const compiled of rules) {
    if (!compiled.isAboutEvents || !compiled.mayMatch(event)) continue;
    if (compiled.notNoise && (await isNoise(event, reader, signal))) continue;
    if (compiled.words && !(await reader.hasWords(event, compiled.words, signal))) continue;
    matches.push({ rule: compiled.rule.id, subject: `event:${event.id}`, notice: noticeOf(event) });
  }
  return matches;
}

/** The mark of the timeline may still be missing, so the rules of the source are applied here. */
async function isNoise(event: Event, reader: ChangeReader, signal: AbortSignal): Promise<boolean> {
  if (event.event_type !== 'changed') return false;
  if (event.is_noise !== null) return event.is_noise;
  const comparison = await reader.comparisonOf(event.id, signal);
  return comparison?.noise.is_noise === true;
}

function noticeOf({ id, observed_at, source }: Event): Notice {
  return {
    kind: 'event',
    at: observed_at,
    event: id,
    title: null,
    text: null,
    path: `/timeline/${id}`,
    source: { id: source.id, url: source.url, name: source.name },
  };
}
