import type { CslItem } from '../../../shared/archive/citation.ts';
import type { CitableWork, CitedWork } from './citedWork.ts';
import { nameParts } from './names.ts';

/** Returns the genre of the work, which APA shows in brackets. */
export function genreOf({ kind }: Pick<CitedWork, 'kind'>): string {
  return kind === 'pack' ? 'Data set' : 'Study';
}

/** Returns the work as CSL-JSON, the format of citation managers. */
export function cslItem(work: CitableWork): CslItem {
  const { year, month, day } = work.date;
  return {
    id: work.id,
    type: work.kind === 'pack' ? 'dataset' : 'document',
    title: work.title,
    author: work.authors.map(({ name }) => nameParts(name)),
    issued: { 'date-parts': [[year, month, day]] },
    publisher: work.publisher,
    ...(work.url === undefined ? {} : { URL: work.url }),
    genre: genreOf(work),
    ...(work.version === undefined ? {} : { version: String(work.version) }),
    ...(work.abstract ? { abstract: work.abstract } : {}),
    ...(work.keywords.length > 0 ? { keyword: work.keywords.join(', ') } : {}),
    ...(work.digest ? { note: fingerprintNote(work.digest) } : {}),
  };
}

export function fingerprintNote(digest: string): string {
  return `SHA-256 fingerprint: ${digest}`;
}
