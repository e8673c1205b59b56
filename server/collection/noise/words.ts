import { foldedText } from '../../../shared/values/text.ts';

/** Scripts that write no spaces between words. */
const NO_SPACES =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const IN_WORD = /[\p{L}\p{N}]$/u;

/** Words and phrases, prepared for `occursIn`. */
export type Words = readonly { folded: string; anywhere: boolean }[];

export function preparedWords(words: readonly string[]): Words {
  return words.map((word) => {
    const folded = foldedText(word);
    return { folded, anywhere: NO_SPACES.test(folded) || !/^[\p{L}\p{N}]/u.test(folded) };
  });
}

/** Returns how often words begin in a text. Case and accents are ignored. */
export function countOccurrences(words: Words, text: string): number {
  const folded = foldedText(text);
  let count = 0;
  for (const { folded: word, anywhere } of words) {
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + word.length)) {
      if (anywhere || !IN_WORD.test(folded.slice(Math.max(0, at - 2), at))) count += 1;
    }
  }
  return count;
}

export function occursIn(words: Words, text: string): boolean {
  return countOccurrences(words, text) > 0;
}
