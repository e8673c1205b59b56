import { createHash } from 'node:crypto';
import { anchorPassage, locatePassage } from '../../../../shared/findings/anchor.ts';
import type { Passage, PassageAnchor } from '../../../../shared/findings/finding.ts';
import { seePassage } from '../../../../shared/proof/passage.ts';
import { occursIn } from '../../noise/words.ts';
import { type DeriveTask, decompressContent, type StoredText, type TextContent } from '../process/tasks.ts';

/*
 * Where passages are in the text of an object. A text of a million characters takes a second, so all of this runs in the
 * derive process.
 */

/** The text of an object, and the tool that made it. */
export interface DerivedText {
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
