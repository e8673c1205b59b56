import { anchorPassage, findWords } from '../../../../shared/findings/anchor.ts';
import type { Passage } from '../../../../shared/findings/finding.ts';
import { normalTextOf } from '../../../../shared/findings/normalText.ts';
import type { PassageChange, PassageChangeTask } from '../process/tasks.ts';
import { type DerivedText, placedPassage, readText } from './placed.ts';

/**
 * Compares what a version of a source says at the place of a passage with what the version before it said. Returns null if
 * that is the same, or the quoted words again; `unknown` if the version has no text. Runs in the derive process.
 */
export function changeOfPassage(task: PassageChangeTask): PassageChange | 'unknown' | null {
  const [quoted, now] = [readText(task.quoted), readText(task.now)];
  const placed = task.passage.derived ? task.passage : placedPassage(task.passage, quoted);
  const count = quoted.text === null ? 0 : findWords(quoted.text, task.passage.exact).count;
  // Words that its object never had in its text cannot be seen to change.
  if (count === 0 && !placed.derived) return null;
  const earlier = task.earlier && readText(task.earlier);
  // Without a text, nothing can be said of the words. That is said once.
  if (now.text === null) return earlier?.text === null ? null : 'unknown';
  // A version without a text said nothing of the words, so it reported nothing that is said of them now.
  return compare({ placed, count, earlier: earlier?.text === null ? undefined : earlier, now });
}

interface Compared {
  /** The passage as it is in the text of its object, and how often that has the words. */
  placed: Passage;
  count: number;
  /** The version before; undefined if that is the quoted one, has no text, or cannot be read. */
  earlier: DerivedText | undefined;
  now: DerivedText;
}

function compare({ placed, count, earlier, now }: Compared): PassageChange | null {
  const before = earlier && wordingIn(earlier, placed, count);
  // From version to version, less is different around a passage.
  const { words, isUnchanged } = before?.passage
    ? wordingIn(now, before.passage, before.count)
    : wordingIn(now, placed, count);
  if (words !== null && isSame(words, placed.exact)) return null;
  const wasReported = earlier && before ? isReported(earlier, before, words) : isUnchanged;
  return wasReported ? null : { after: words };
}

/** Whether the version before had these words at the place already. Where the place is known, the same words elsewhere say nothing. */
function isReported(earlier: DerivedText, before: Wording, words: string | null): boolean {
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

function wordingIn(words: DerivedText, passage: Passage, count: number): Wording {
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

function hasWords({ text }: DerivedText, words: string | null): boolean {
  return text !== null && words !== null && findWords(text, words).count > 0;
}

/** Whether a text has the same words, white space and the like aside. */
function isSame(one: string, other: string): boolean {
  return normalTextOf(one, true).text === normalTextOf(other, true).text;
}
