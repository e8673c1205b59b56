import type { FoundText, ObjectText, SearchQuery, Snippet } from '../../../shared/collection/derived.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import {
  derivedDocument,
  foundFile,
  foundVersion,
  searchTexts,
  type TextHit,
} from '../../store/sqlite/collection/documentSearch.ts';
import { sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { expressionOf, type SearchTerms, textSearchTerms } from '../../store/sqlite/engine/search.ts';
import { withholdingOf } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import {
  madeOfReadable,
  type Reader,
  requireReadable,
  unreadableAmong,
} from '../../withholding/withholding.ts';
import { requireObject } from '../timeline/objects.ts';
import type { Texts } from './derived.ts';
import { characterStart, MAX_SEARCHED_CHARACTERS } from './limits.ts';
import { decompressJson, type TextContent } from './process/tasks.ts';

/**
 * Returns the text of an archived object as the JSON of an `ObjectText`. Extracts it if it is not stored yet.
 *
 * @throws Problem `invalid_digest`, `not_found`, `withheld`, `released`; `not_derivable` with the reason;
 * `derivation_busy`.
 */
export async function readObjectText(
  { read }: Pick<Store, 'read'>,
  texts: Texts,
  sha256: string,
  reader: Reader,
): Promise<string> {
  requireObject(read, sha256);
  return madeOfReadable(
    () => requireReadable(read, sha256, reader),
    () => objectText(texts, sha256),
  );
}

async function objectText(texts: Texts, sha256: string): Promise<string> {
  const { content, outcome, detail, objects, tool, tool_version, made_at } = await texts.textOf(sha256);
  if (content === null)
    throw new Problem('not_derivable', `This object has no readable text. ${detail ?? ''}`.trimEnd(), {
      members: { reason: outcome },
    });
  const derived = { tool, version: tool_version, made_at };
  const header: Omit<ObjectText, keyof TextContent> = { sha256, objects, derived };
  // The JSON is concatenated, so that a long text is not parsed and serialised again.
  return `${JSON.stringify(header).slice(0, -1)},${(await decompressJson(content)).slice(1)}`;
}

/** While snippets are made, the event loop gets a turn after this long. */
const YIELD_AFTER_MS = 10;

/**
 * Returns one page of the sources and files whose text matches the search, each with a snippet. What a reader may not read
 * is neither found nor counted.
 */
export async function searchObjectTexts(
  { read }: Pick<Store, 'read'>,
  { q = '', in: part, source: sourceId, parts = false, limit, offset }: SearchQuery,
  reader: Reader,
): Promise<Slice<FoundText>> {
  const source = sourceId === undefined ? null : (sourceKeyOf(read, sourceId) ?? null);
  if (sourceId !== undefined && source === null) return { items: [], total: 0 };
  const terms = textSearchTerms(q);
  const scope = {
    match: expressionOf(terms) ?? null,
    sources: part !== 'packs',
    packs: part !== 'sources' && source === null,
    source,
    forVisitors: !reader.owner,
  };
  const { hits, total } = onSnapshot(read, () => searchTexts(read, scope, { limit, offset }));
  const made: FoundText[] = [];
  let since = performance.now();
  for (const hit of hits) {
    const found = await foundText(read, hit, { terms, parts });
    if (found) made.push(found);
    if (performance.now() - since < YIELD_AFTER_MS) continue;
    await yieldToEventLoop();
    since = performance.now();
  }
  // Each may have been withheld while the snippets of all were made.
  const digests = made.map(({ sha256 }) => sha256);
  const hidden = unreadableAmong(read, digests, reader);
  const shown = made.filter(({ sha256 }) => !hidden.has(sha256));
  const items = shown.map((found) => ({ ...found, ...markOf(read, found) }));
  return { items, total: total - (hits.length - items.length) };
}

/** The owner finds what visitors do not, marked. */
function markOf(read: Store['read'], { sha256 }: FoundText): Pick<FoundText, 'withheld'> {
  return withholdingOf(read, sha256) ? { withheld: true } : {};
}

/** Returns a hit as it is sent, or undefined if its text was deleted meanwhile. */
async function foundText(
  read: Store['read'],
  hit: TextHit,
  { terms, parts }: { terms: SearchTerms; parts: boolean },
): Promise<FoundText | undefined> {
  const [first = 0] = hit;
  return first < 0 ? fileHit(read, first, { terms, parts }) : versionHit(read, hit, terms);
}

async function versionHit(
  read: Store['read'],
  hit: TextHit,
  terms: SearchTerms,
): Promise<FoundText | undefined> {
  const found = foundVersion(read, hit);
  if (!found) return undefined;
  const { id, url, name, agency, tags, sha256, title } = found;
  return {
    source: { id, url, name, agency, tags },
    pack: null,
    sha256,
    observed_at: found.observed_at,
    observer: found.observer,
    original_observed_at: found.original_observed_at,
    is_current: found.is_current,
    other_versions: hit.length - 1,
    title,
    snippet: await snippetIn(read, sha256, terms),
    derived: { tool: found.tool, version: found.tool_version, made_at: found.made_at },
  };
}

async function fileHit(
  read: Store['read'],
  key: number,
  { terms, parts }: { terms: SearchTerms; parts: boolean },
): Promise<FoundText | undefined> {
  const found = foundFile(read, { key, parts: parts ? 1 : 0 });
  if (!found) return undefined;
  const { pack, pack_title, path, others, sha256, received_at, title } = found;
  return {
    source: null,
    pack: { id: pack, title: pack_title, path, others },
    sha256,
    observed_at: received_at,
    observer: null,
    original_observed_at: null,
    is_current: true,
    other_versions: 0,
    title,
    snippet: await snippetIn(read, sha256, terms),
    derived: { tool: found.tool, version: found.tool_version, made_at: found.made_at },
  };
}

async function snippetIn(read: Store['read'], sha256: string, terms: SearchTerms): Promise<Snippet> {
  const content = derivedDocument(read, 'text', sha256)?.content;
  if (!content) return snippetOf('', terms);
  const { text } = JSON.parse(await decompressJson(content)) as TextContent;
  return snippetOf(text.slice(0, MAX_SEARCHED_CHARACTERS), terms);
}

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
