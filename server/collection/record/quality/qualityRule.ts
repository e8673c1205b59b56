import type { PageLabel } from '../../../../shared/collection/event.ts';
import type { PageResponse } from './pageHtml.ts';

/** What the rules look at. */
export interface PageFacts {
  page: Pick<PageResponse, 'url' | 'final_url' | 'status'>;
  /** The first value of each header, by its name in lower case. */
  headers: ReadonlyMap<string, string>;
  /** The beginning of the page; empty if it is not HTML or XML. */
  html: string;
  title: string | null;
  /** The text of a page with little text; empty otherwise. */
  text: string;
  /** Whether `html` is the whole page, and HTML. */
  isWhole: boolean;
}

/** A rule that finds a sign that a response is not the expected page. */
export interface QualityRule {
  id: string;
  label: PageLabel['label'];
  /** A page gets the label whose rules together have at least `LABEL_SCORE`. */
  score: number;
  /** `ok`: only for responses with a status of success. */
  when: 'always' | 'ok';
  /** Returns the reason in words, or undefined if there is no such sign. */
  find: (facts: PageFacts) => string | undefined;
}

/** The text of a page whose heading or sentence is most of what it says. */
export const MAX_SENTENCE_TEXT = 600;

/** Returns the reason that a page contains little more than a sentence. */
export function sentenceIn({ text }: PageFacts, sentence: RegExp): string | undefined {
  const found = sentence.exec(text)?.[0];
  return found && `The page contains little more than “${found}”`;
}
