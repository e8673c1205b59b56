import type { Snippet } from '../../../../shared/collection/derived.ts';
import type { SearchTerms } from '../../../store/sqlite/engine/search.ts';
import { characterStart } from '../truncate.ts';

const SNIPPET_CHARACTERS = 280;
/** Further terms, and further words of a phrase, are ignored: a query may have thousands. */
const MAX_TERMS = 20;
const MAX_WORDS_PER_TERM = 10;
/** Characters shown before the first match. */
const LEAD_CHARACTERS = 60;

interface Token {
  start: number;
  end: number;
  folded: string;
}

/** A term as the index sees it: consecutive words, of which the last may be a prefix. */
interface Term {
  words: string[];
  isPrefix: boolean;
}

interface Mark {
  start: number;
  end: number;
  term: number;
}

/**
 * Returns the part of a text that contains the most different terms of a search, with the positions of the matches.
 * Returns the beginning if no term occurs in the text: the title may have matched.
 */
export function snippetOf(text: string, { phrases, words }: SearchTerms): Snippet {
  const terms = [
    ...phrases.slice(0, MAX_TERMS).map((phrase) => termOf(phrase, false)),
    ...words.slice(0, MAX_TERMS).map((word) => termOf(word, true)),
  ];
  const marks = marksOf(text, terms);
  const first = bestStart(marks);
  const start = wordStart(text, Math.max(0, (first ?? 0) - LEAD_CHARACTERS));
  const end = wordEnd(text, Math.min(text.length, start + SNIPPET_CHARACTERS));
  const lead = start > 0 ? '…' : '';
  const shown = text.slice(start, end).replace(/\s/g, ' ').trimEnd();
  return {
    text: `${lead}${shown}${end < text.length ? '…' : ''}`,
    marks: marks
      .filter((mark) => mark.start >= start && mark.end <= start + shown.length)
      .map((mark) => ({ start: mark.start - start + lead.length, end: mark.end - start + lead.length })),
  };
}

const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;

function* tokensOf(text: string): Generator<Token> {
  for (const { 0: word, index } of text.matchAll(WORD))
    yield { start: index, end: index + word.length, folded: folded(word) };
}

function termOf(text: string, isPrefix: boolean): Term {
  const words = [...tokensOf(text)].map((token) => token.folded);
  return { words: words.slice(0, MAX_WORDS_PER_TERM), isPrefix };
}

/** Case and accents are ignored, as the index does (`unicode61 remove_diacritics 2`). */
function folded(word: string): string {
  const lower = word.toLowerCase();
  return /^[\x00-\x7f]*$/.test(lower) ? lower : lower.normalize('NFD').replace(/\p{M}/gu, '');
}

/** Finds matches, without overlaps, up to a snippet's length after every term has occurred once. */
function marksOf(text: string, terms: readonly Term[]): Mark[] {
  const marks: Mark[] = [];
  const seen = new Set<number>();
  const longest = Math.max(0, ...terms.map((term) => term.words.length));
  let window: Token[] = [];
  let until = terms.length === 0 ? 0 : text.length;
  const matchWindow = () => {
    const term = terms.findIndex((one) => startsWithTerm(window, one));
    const last = window[(terms[term]?.words.length ?? 0) - 1];
    const [first] = window;
    if (!first || !last || first.start < (marks.at(-1)?.end ?? 0)) return;
    marks.push({ start: first.start, end: last.end, term });
    if (seen.size < terms.length && seen.add(term).size === terms.length)
      until = last.end + SNIPPET_CHARACTERS;
  };
  for (const token of tokensOf(text)) {
    if (token.start > until) break;
    window.push(token);
    if (window.length < longest) continue;
    matchWindow();
    window = window.slice(1);
  }
  for (; window.length > 0; window = window.slice(1)) matchWindow();
  return marks;
}

function startsWithTerm(tokens: readonly Token[], { words, isPrefix }: Term): boolean {
  return words.every((word, index) => {
    const token = tokens[index]?.folded;
    const mayContinue = isPrefix && index === words.length - 1;
    return mayContinue ? token?.startsWith(word) : token === word;
  });
}

/** Returns the start of the mark from which a snippet contains the most different terms. */
function bestStart(marks: readonly Mark[]): number | undefined {
  let best: { start: number; terms: number } | undefined;
  for (const [index, { start }] of marks.entries()) {
    const terms = new Set<number>();
    const reach = start + SNIPPET_CHARACTERS - LEAD_CHARACTERS;
    for (let other = index; other < marks.length && (marks[other]?.end ?? 0) <= reach; other += 1)
      terms.add(marks[other]?.term ?? 0);
    if (terms.size > (best?.terms ?? 0)) best = { start, terms: terms.size };
  }
  return best?.start;
}

/** Longer words are cut. */
const MAX_WORD_LENGTH = 30;

function wordStart(text: string, at: number): number {
  if (at === 0) return 0;
  const blank = text.slice(at, at + MAX_WORD_LENGTH).search(/\s/);
  return blank === -1 ? characterStart(text, at) : at + blank + 1;
}

function wordEnd(text: string, at: number): number {
  if (at === text.length) return at;
  const blank = text.slice(at - MAX_WORD_LENGTH, at + 1).search(/\s\S*$/);
  return blank === -1 ? characterStart(text, at) : at - MAX_WORD_LENGTH + blank;
}
