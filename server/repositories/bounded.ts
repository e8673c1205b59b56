import type { Described } from './recordFields.ts';

/** More than a pack may have, so that what is cut can still be said; little enough to be handled at once. */
const MOST = { title: 2_000, summary: 100_000, people: 1_000, name: 1_000, words: 1_000, word: 500 };

/** Returns a description with texts and lists of bounded length. It runs where the description was read. */
export function bounded({ title, summary, authors, keywords }: Described) {
  return {
    title: title.slice(0, MOST.title),
    summary: summary.slice(0, MOST.summary),
    authors: authors.slice(0, MOST.people).map(({ name, orcid, affiliation }) => ({
      name: name.slice(0, MOST.name),
      orcid,
      affiliation: affiliation.slice(0, MOST.name),
    })),
    keywords: keywords.slice(0, MOST.words).map((word) => word.slice(0, MOST.word)),
  };
}
