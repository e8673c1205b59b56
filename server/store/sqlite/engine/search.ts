/** The terms of a search text. All must occur. */
export interface SearchTerms {
  /** Matched exactly. */
  phrases: string[];
  /** Matched as prefixes. */
  words: string[];
}

/** Parses a search text into "phrases" in quotes and words. Terms without letters or digits are dropped. */
export function searchTerms(q: string): SearchTerms {
  const phrases: string[] = [];
  // Control characters (NUL would end the expression) and unpaired surrogates separate words.
  const text = q.replace(/[\p{Cc}\p{Cs}]/gu, ' ');
  const words = text
    .replace(/"([^"]*)"/g, (_whole, phrase: string) => {
      if (hasToken(phrase)) phrases.push(phrase);
      return ' ';
    })
    .split(/[\s"]+/u)
    .filter(hasToken);
  return { phrases: [...new Set(phrases)], words: withoutImplied(words) };
}

/**
 * Builds the FTS5 expression of a search text: words as quoted prefix terms and phrases as they are, all of which must
 * occur. Any text is safe, because every term is quoted.
 *
 * @returns undefined if the text has no terms; it then filters nothing.
 */
export function matchExpression(q: string): string | undefined {
  return expressionOf(searchTerms(q));
}

/** Like `matchExpression`, for terms that are parsed already. */
export function expressionOf(terms: SearchTerms): string | undefined {
  const quoted = quotedTerms(terms);
  return quoted.length > 0 ? quoted.join(' ') : undefined;
}

/** Scripts that write words of one character, or no spaces between words. */
const SHORT_WORDS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Parses a search over long texts. A word of one letter is matched exactly there: nearly every text has a word that
 * begins with it, and finding them all takes more than a second for 100,000 texts.
 */
export function textSearchTerms(q: string): SearchTerms {
  const { phrases, words } = searchTerms(q);
  const isLetter = (word: string) => Array.from(word).length === 1 && !SHORT_WORDS.test(word);
  return {
    phrases: [...phrases, ...words.filter(isLetter)],
    words: words.filter((word) => !isLetter(word)),
  };
}

/** A word that occurs in each of 100,000 records takes about 4 ms to search. */
const MAX_WORDS = 12;

/**
 * Builds the expression of only the longest terms of a search text, as many as can be searched quickly even if each
 * occurs in every record.
 *
 * @returns undefined if that is all of them.
 */
export function approximateExpression(q: string): string | undefined {
  const terms = quotedTerms(searchTerms(q));
  const byLength = terms.toSorted((left, right) => right.length - left.length);
  let words = 0;
  const taken = byLength.filter((term, index) => {
    words += term.split(/\s+/u).length;
    return index === 0 || words <= MAX_WORDS;
  });
  return taken.length < terms.length ? taken.join(' ') : undefined;
}

function quotedTerms({ phrases, words }: SearchTerms): string[] {
  return [...phrases.map((phrase) => `"${phrase}"`), ...words.map((word) => `"${word}"*`)];
}

/** Whether the tokenizer (`unicode61`) finds a token: letters, digits or private-use characters. */
function hasToken(text: string): boolean {
  return /[\p{L}\p{N}\p{Co}]/u.test(text);
}

/** Drops words that are prefixes of another word: they always match with it, and cost as much to search. */
function withoutImplied(words: readonly string[]): string[] {
  const kept: string[] = [];
  const folded = words.map((word) => word.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
  for (const word of [...new Set(folded)].sort().reverse()) {
    if (!kept.at(-1)?.startsWith(word)) kept.push(word);
  }
  return kept.reverse();
}
