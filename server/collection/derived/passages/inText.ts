import { createHash } from 'node:crypto';
import { anchorPassage, findWords, locatePassage } from '../../../../shared/findings/anchor.ts';
import type { Passage, PassageAnchor } from '../../../../shared/findings/finding.ts';
import { normalTextOf } from '../../../../shared/findings/normalText.ts';
import { seePassage } from '../../../../shared/proof/evidence/seenPassage.ts';
import { occursIn } from '../../noise/words.ts';
import {
  type DeriveTask,
  decompressContent,
  type PassageChange,
  type PassageChangeTask,
  type StoredText,
  type TextContent,
} from '../process/tasks.ts';

/*
 * Where passages are in the text of an object. A text of a million characters takes a second, so all of this runs in the
 * derive process.
 */

/** The text of an object, and the tool that made it. */
interface DerivedText {
  tool: string;
  version: string;
  text: string | null;
  /** The number of pages of a PDF, which form feeds separate. */
  pages: number | null;
}

export function readText({ tool, version, content }: StoredText): DerivedText {
  const { text, pages } = content
    ? decompressContent<TextContent>(content)
    : ({ text: null, pages: null } as const);
  return { tool, version, text, pages };
}

/**
 * Returns a passage as it is in the text of its object: the exact words, what surrounds them, the position, and the tool that
 * made the text. A passage that the text does not have at one place is returned as it was entered.
 */
export function placedPassage(passage: Passage, { tool, version, text, pages }: DerivedText): Passage {
  const located = text === null ? undefined : locatePassage(text, passage, pages !== null);
  if (text === null || !located) return passage;
  const { words_once, context_once, ...place } = located;
  const derived = { tool, version, text: digestOf(text), words_once, context_once };
  return { sha256: passage.sha256, ...place, derived };
}

/** Returns where a passage is in the text that is made of its object now. */
export function anchoredPassage(
  passage: Passage,
  { tool, version, text, pages }: DerivedText,
): PassageAnchor {
  const nowhere = { tool, version, start: null, end: null, page: null };
  if (text === null) return { ...nowhere, state: 'no_text' };
  // The same text, of another version of the tool: the position is as good as it was.
  const isSame = passage.derived?.text === digestOf(text);
  const found =
    passage.derived && !isSame ? anchorPassage(text, passage) : locatePassage(text, passage, false);
  // The bytes are the same, so other words at its place are not the passage.
  if (typeof found !== 'object' || ('same_words' in found && !found.same_words))
    return { ...nowhere, state: 'not_found' };
  const { start, end } = found;
  const page = pages === null ? null : Array.from(text).slice(0, start).join('').split('\f').length;
  return { tool, version, state: 'found', start, end, page };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

type TaskOf<Name> = Extract<DeriveTask, { task: Name }>;

/** Whether a text has one of these words. */
export function hasWords({ content, words }: TaskOf<'words'>): boolean {
  return occursIn(words, decompressContent<TextContent>(content).text);
}

/** Whether an evidence file would find the words in the bytes. It does not look into bytes that it cannot read as text. */
export function isSeen({ bytes, mediaType, passage }: TaskOf<'see'>): boolean {
  return seePassage(bytes, mediaType, passage) !== 'absent';
}

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
  return before.words === words || containsWords(earlier, words);
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

function containsWords({ text }: DerivedText, words: string | null): boolean {
  return text !== null && words !== null && findWords(text, words).count > 0;
}

/** Whether a text has the same words, white space and the like aside. */
function isSame(one: string, other: string): boolean {
  return normalTextOf(one, true).text === normalTextOf(other, true).text;
}
