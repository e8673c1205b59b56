import type { PackRecord } from '../../../shared/archive/pack.ts';
import type { License } from '../../../shared/archive/vocabulary.ts';

export interface CitedAuthor {
  name: string;
  orcid: string | null;
  affiliation: string;
}

/** A relation of the work to another, with a DataCite relation type. */
export type CitedRelation = PackRecord['related'][number];

/** The data of a pack or a study that citations use. All texts are single lines. */
export interface CitedWork {
  id: string;
  kind: 'pack' | 'study';
  title: string;
  authors: CitedAuthor[];
  /** The day (UTC) on which the archive received it. */
  date: { year: number; month: number; day: number };
  /** The name of the node. */
  publisher: string;
  url: string;
  digest: string | null;
  /** The position in a chain of packs that supersede each other; undefined if there is only one. */
  version: number | undefined;
  abstract: string;
  keywords: string[];
  license: License | null;
  bytes: number;
  files: number;
  mediaTypes: string[];
  relations: CitedRelation[];
}

/** A work as it is printed in a citation: without a URL if nobody else could open it. */
export type CitableWork = Omit<CitedWork, 'url'> & { url: string | undefined };

/** The identifier of a work in every archive that holds it; undefined for a study. */
export function urnOf({ digest }: Pick<CitedWork, 'digest'>): string | undefined {
  return digest === null ? undefined : `urn:sha256:${digest}`;
}

/**
 * Converts text to one line. In line-based formats a line break would start a new field, and control characters are not
 * valid in any format.
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
