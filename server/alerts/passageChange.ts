import { BROWSER, type Event, SELF } from '../../shared/collection/event.ts';
import { anchorPassage, findWords } from '../../shared/findings/anchor.ts';
import type { Passage } from '../../shared/findings/finding.ts';
import { normalTextOf } from '../../shared/findings/normalText.ts';
import { passagesBefore } from '../findings/findings.ts';
import { type ObjectWords, placedPassage } from '../findings/passages.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { startPositionOf } from '../store/sqlite/node/alerts.ts';
import type { Store } from '../store/store.ts';
import { OWNER, unreadable } from '../withholding/withholding.ts';
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
  const isSecond = previous_sha256 === null || previous_sha256 === passage.sha256;
  const earlier = isSecond ? undefined : await reader.wordsOf(previous_sha256, signal);
  // Without a text, nothing can be said of the words. That is said once.
  if (now.text === null) return earlier?.text === null ? undefined : 'unknown';
  return compare({ placed, count, earlier, now });
}

interface Compared {
  /** The passage as it is in the text of its object, and how often that has the words. */
  placed: Passage;
  count: number;
  /** The version before; undefined if that is the quoted one, or cannot be read. */
  earlier: ObjectWords | undefined;
  now: ObjectWords;
}

function compare({ placed, count, earlier, now }: Compared): PassageChange | undefined {
  const before = earlier && wordingIn(earlier, placed, count);
  // From version to version, less is different around a passage.
  const { words, isUnchanged } = before?.passage
    ? wordingIn(now, before.passage, before.count)
    : wordingIn(now, placed, count);
  if (words !== null && isSame(words, placed.exact)) return undefined;
  const wasReported = earlier && before ? isReported(earlier, before, words) : isUnchanged;
  return wasReported ? undefined : { after: words };
}

/** Whether the version before had these words at the place already. Where the place is known, the same words elsewhere say nothing. */
function isReported(earlier: ObjectWords, before: Wording, words: string | null): boolean {
  if (before.passage && before.words !== null && words !== null) return isSame(before.words, words);
  return before.words === words || hasWords(earlier, words);
}

/** What a text has at the place of a passage. */
interface Wording {
  /** The words at that place. Null if the text does not have the passage. */
  words: string | null;
  isUnchanged: boolean;
  /** How often it has these words. */
  count: number;
  /** The passage as this text has it, if its place is known. */
  passage?: Passage;
}

function wordingIn(words: ObjectWords, passage: Passage, count: number): Wording {
  const { text } = words;
  if (text === null) return { words: null, isUnchanged: false, count: 0 };
  const { sha256 } = passage;
  const at = (place: { exact: string; start: number; end: number }) =>
    placedPassage({ sha256, prefix: '', suffix: '', page: null, ...place }, words);
  const found = anchorPassage(text, passage);
  if (typeof found === 'object') {
    const { exact, start, end, same_words: isUnchanged } = found;
    const { count: has } = findWords(text, exact);
    return { words: exact, isUnchanged, count: has, passage: at({ exact, start, end }) };
  }
  // Moved words are not gone. The only ones are followed to their place.
  const { count: has, first } = findWords(text, passage.exact);
  if (has === 0 || has < count) return { words: null, isUnchanged: false, count: has };
  const isOnly = has === 1 && first !== undefined;
  const exact = isOnly ? Array.from(text).slice(first.start, first.end).join('') : passage.exact;
  return { words: exact, isUnchanged: true, count: has, ...(isOnly && { passage: at({ exact, ...first }) }) };
}

function hasWords({ text }: ObjectWords, words: string | null): boolean {
  return text !== null && words !== null && findWords(text, words).count > 0;
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
    // Of bytes that were given up, nothing can be said.
    if (!passage?.sha256 || unreadable(read, passage.sha256, OWNER)) continue;
    if (!(await passageChange(reader, passage, event, signal))) continue;
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
