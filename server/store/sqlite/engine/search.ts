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
  const terms = termsOf(q);
  return terms.length > 0 ? terms.join(' ') : undefined;
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
  const terms = termsOf(q);
  const byLength = terms.toSorted((left, right) => right.length - left.length);
  let words = 0;
  const taken = byLength.filter((term, index) => {
    words += term.split(/\s+/u).length;
    return index === 0 || words <= MAX_WORDS;
  });
  return taken.length < terms.length ? taken.join(' ') : undefined;
}

function termsOf(q: string): string[] {
  const { phrases, words } = searchTerms(q);
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
