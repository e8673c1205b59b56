import type { Pack } from '../../../../shared/archive/pack.ts';

const KEY = 'strongroom-authors';

type Author = Pick<Pack['authors'][number], 'name' | 'orcid' | 'affiliation'>;

/** Remembers the authors of a published pack for the next one. Without storage, they are typed again. */
export function rememberAuthors(authors: readonly Author[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(authors));
  } catch {
    // A full or disabled storage must not stop publishing.
  }
}

/** The authors of the last pack published in this browser. */
export function rememberedAuthors(): Author[] {
  try {
    return JSON.parse(globalThis.localStorage?.getItem(KEY) ?? '[]') as Author[];
  } catch {
    return [];
  }
}
