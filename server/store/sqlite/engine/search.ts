/** What a search text asks for, all of which must occur. */
export interface SearchTerms {
  /** As they stand. */
  phrases: string[];
  /** Each found by its beginning. */
  words: string[];
}

/** Reads a search text: "phrases" in quotes, and words. Those that hold nothing to look for are left out. */
export function searchTerms(q: string): SearchTerms {
  const phrases: string[] = [];
  // Control characters (NUL would end the expression early) and halves of surrogate pairs part words.
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
 * Builds the FTS5 expression of a search text: every word as a quoted prefix term, every "phrase" as it stands, all of
 * which must occur. Any text is safe: what is special to FTS5 stands inside quotes, where nothing is.
 *
 * @returns undefined where the text holds no word, which is no filter.
 */
export function matchExpression(q: string): string | undefined {
  const terms = termsOf(q);
  return terms.length > 0 ? terms.join(' ') : undefined;
}

/** Words that occur in every one of 100,000 records cost about 4 ms each. */
const ROUGH_WORDS = 12;

/**
 * The expression of the longest words and phrases of a search text, as many as are looked for quickly even where each
 * occurs everywhere.
 *
 * @returns undefined where that is all of them.
 */
export function approximateExpression(q: string): string | undefined {
  const terms = termsOf(q);
  const byLength = terms.toSorted((left, right) => right.length - left.length);
  let words = 0;
  const taken = byLength.filter((term, index) => {
    words += term.split(/\s+/u).length;
    return index === 0 || words <= ROUGH_WORDS;
  });
  return taken.length < terms.length ? taken.join(' ') : undefined;
}

function termsOf(q: string): string[] {
  const { phrases, words } = searchTerms(q);
  return [...phrases.map((phrase) => `"${phrase}"`), ...words.map((word) => `"${word}"*`)];
}

/** Whether the tokenizer (`unicode61`) finds anything to look for: letters, digits and private characters. */
function hasToken(text: string): boolean {
  return /[\p{L}\p{N}\p{Co}]/u.test(text);
}

/** A word that another one begins with is implied by it, and costs as much again to look for. */
function withoutImplied(words: readonly string[]): string[] {
  const kept: string[] = [];
  const folded = words.map((word) => word.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
  for (const word of [...new Set(folded)].sort().reverse()) {
    if (!kept.at(-1)?.startsWith(word)) kept.push(word);
  }
  return kept.reverse();
}
