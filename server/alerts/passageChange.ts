import { BROWSER, type Event, SELF } from '../../shared/collection/event.ts';
import { anchorPassage, findWords } from '../../shared/findings/anchor.ts';
import type { Passage } from '../../shared/findings/finding.ts';
import { normalTextOf } from '../../shared/findings/normalText.ts';
import { passagesBefore } from '../findings/findings.ts';
import { type ObjectWords, placedPassage } from '../findings/passages.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { startPositionOf } from '../store/sqlite/node/alerts.ts';
import type { Store } from '../store/store.ts';
import type { ChangeReader } from './changeReader.ts';
import type { CompiledRule } from './matching/matchStates.ts';
import type { Match } from './queue.ts';

/** What became of a passage: the words that are at its place now, or null if there are none. */
export interface PassageChange {
  after: string | null;
}

/**
 * Compares what a version of a source says at the place of a passage with what the version before it said. Returns undefined if
 * that is the same, or the quoted words again; `unknown` if the texts cannot be read now.
 *
 * @throws Problem `shutting_down`; the signal's reason
 */
export async function passageChange(
  reader: ChangeReader,
  passage: Passage,
  { sha256, previous_sha256 }: Pick<Event, 'sha256' | 'previous_sha256'>,
  signal: AbortSignal,
): Promise<PassageChange | 'unknown' | undefined> {
  if (passage.sha256 === null || sha256 === null || sha256 === passage.sha256) return undefined;
  const quoted = await reader.wordsOf(passage.sha256, signal);
  const now = await reader.wordsOf(sha256, signal);
  if (!quoted || !now) return 'unknown';
  const placed = passage.derived ? passage : placedPassage(passage, quoted);
  const count = quoted.text === null ? 0 : findWords(quoted.text, passage.exact).count;
  // Words that its object never had in its text cannot be seen to change.
  if (count === 0 && !placed.derived) return undefined;
  const hasBefore = previous_sha256 === null || previous_sha256 === passage.sha256;
  const earlier = hasBefore ? undefined : await reader.wordsOf(previous_sha256, signal);
  const before = earlier && wordingIn(earlier, placed, count);
  // From version to version, less is different around a passage.
  const after = wordingIn(now, before?.passage ?? placed, count);
  const isQuotedAgain = after.words !== null && isSame(after.words, passage.exact);
  const hadThem =
    typeof earlier?.text === 'string' && after.words !== null && hasWords(earlier.text, after.words);
  const isAsBefore = before ? before.words === after.words || hadThem : after.isUnchanged;
  return isQuotedAgain || isAsBefore ? undefined : { after: after.words };
}

/** What a text has at the place of a passage. */
interface Wording {
  /** Null if it has nothing of it. */
  words: string | null;
  isUnchanged: boolean;
  /** The passage as this text has it, if its place is known. */
  passage?: Passage;
}

function wordingIn(words: ObjectWords, passage: Passage, count: number): Wording {
  const { text } = words;
  if (text === null) return { words: null, isUnchanged: false };
  const { sha256 } = passage;
  const at = (place: { exact: string; start: number; end: number }) =>
    placedPassage({ sha256, prefix: '', suffix: '', page: null, ...place }, words);
  const found = anchorPassage(text, passage);
  if (typeof found === 'object') {
    const { exact, start, end, same_words: isUnchanged } = found;
    return { words: exact, isUnchanged, passage: at({ exact, start, end }) };
  }
  // Moved words are not gone. The only ones are followed to their place.
  const { count: has, first } = findWords(text, passage.exact);
  if (has === 0 || has < count) return { words: null, isUnchanged: false };
  const isOnly = has === 1 && first !== undefined;
  const exact = isOnly ? Array.from(text).slice(first.start, first.end).join('') : passage.exact;
  return { words: exact, isUnchanged: true, ...(isOnly && { passage: at({ exact, ...first }) }) };
}

function hasWords(text: string, words: string): boolean {
  return findWords(text, words).count > 0;
}

/** Whether a text has the same words, white space and the like aside. */
function isSame(one: string, other: string): boolean {
  return normalTextOf(one, true).text === normalTextOf(other, true).text;
}

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
    if (!passage || !(await passageChange(reader, passage, event, signal))) continue;
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
