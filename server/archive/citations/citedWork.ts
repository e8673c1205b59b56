import type { PackRecord } from '../../../shared/pack.ts';
import type { License } from '../../../shared/vocabulary.ts';

export interface CitedAuthor {
  name: string;
  orcid: string | null;
  affiliation: string;
}

/** How the work relates to another, by DataCite's words. */
export type CitedRelation = PackRecord['related'][number];

/** What a citation can say of a pack or a study, whatever its form. All texts are one line. */
export interface CitedWork {
  id: string;
  kind: 'pack' | 'study';
  title: string;
  authors: CitedAuthor[];
  /** The day, in UTC, on which the archive received it. */
  date: { year: number; month: number; day: number };
  /** The name of the node, which publishes it. */
  publisher: string;
  url: string;
  digest: string | null;
  /** Which in a line of packs that supersede each other; undefined where it is the only one. */
  version: number | undefined;
  abstract: string;
  keywords: string[];
  license: License | null;
  bytes: number;
  files: number;
  mediaTypes: string[];
  relations: CitedRelation[];
}

/**
 * Text as one line. Formats whose records are lines would take a line break for the start of a field; other control
 * characters have no place in any of them.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** The day of the work, as in `2026-11-20`. */
export function dateText({ date: { year, month, day } }: Pick<CitedWork, 'date'>): string {
  return [year, month, day].map((part) => String(part).padStart(2, '0')).join('-');
}
