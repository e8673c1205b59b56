import type { StoredDraft } from '../../../../shared/archive/draft.ts';
import type { Pack, PackRecord } from '../../../../shared/archive/pack.ts';
import type { License, Outcome, Verdict } from '../../../../shared/archive/vocabulary.ts';

export interface DraftAuthor {
  key: string;
  name: string;
  orcid: string;
  affiliation: string;
}

export type ResultType = 'number' | 'text' | 'boolean' | 'null';

export interface DraftResult {
  key: string;
  name: string;
  type: ResultType;
  /** The text as typed, whatever the type. */
  value: string;
}

export interface DraftRelated {
  key: string;
  relation: string;
  identifier: string;
}

/** A record while it is being typed. Any field may be empty or invalid. */
export interface Draft {
  title: string;
  summary: string;
  authors: DraftAuthor[];
  license: License | null;
  outcome: Outcome | null;
  hasMethod: boolean;
  /** `complete` is null until the uploader has stated it. */
  method: { text: string; link: string; complete: boolean | null };
  results: DraftResult[];
  keywords: string[];
  node: string | null;
  study: string | null;
  replicates: { pack: string | null; verdict: Verdict | null; note: string } | null;
  supersedes: string | null;
  related: DraftRelated[];
}

/** A stable key for a list row, so that rows keep their identity when others are removed. */
export function rowKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('');
}

export function emptyAuthor(): DraftAuthor {
  return { key: rowKey(), name: '', orcid: '', affiliation: '' };
}

export function draftAuthorOf({ name, orcid, affiliation }: Pack['authors'][number]): DraftAuthor {
  return { key: rowKey(), name, orcid: orcid ?? '', affiliation };
}

/** A draft with nothing but the authors of the last pack. */
export function emptyDraft(): Draft {
  const authors = rememberedAuthors();
  return {
    title: '',
    summary: '',
    authors: authors.length > 0 ? authors.map(draftAuthorOf) : [emptyAuthor()],
    license: null,
    outcome: null,
    hasMethod: false,
    method: { text: '', link: '', complete: null },
    results: [],
    keywords: [],
    node: null,
    study: null,
    replicates: null,
    supersedes: null,
    related: [],
  };
}

/** The draft of the node in which this one is saved. */
export interface SavedDraft {
  id: string;
  /** The revision of the node's draft that this window has seen: it read it, or saved it. */
  revision: number;
}

/** A draft of this or an earlier release, with every field. */
export function completeDraft(kept: Partial<Draft> | undefined): Draft {
  return { ...emptyDraft(), ...kept };
}

/** Whether starting over would lose anything. */
export function isTouched(draft: Draft): boolean {
  return !isSameDraft(draft, emptyDraft());
}

/** Whether two drafts have the same values. */
export function isSameDraft(one: Draft, other: Draft): boolean {
  return (Object.keys(emptyDraft()) as (keyof Draft)[]).every(
    (field) => plain(one[field]) === plain(other[field]),
  );
}

/** A field as text, without the keys of list rows. */
function plain(value: unknown): string {
  return JSON.stringify(value, (name, inner: unknown) => (name === 'key' ? undefined : inner));
}

/** The form of a draft of the node: as it was typed or, for a draft made by a program, from its record. */
export function draftOfStored({ form, record }: StoredDraft): Draft {
  if (form !== null) {
    const { writer: _, ...draft } = form;
    return completeDraft(draft as Partial<Draft>);
  }
  return draftOfRecord({ ...EMPTY_RECORD, ...(record as Partial<Pack>) });
}

const EMPTY_RECORD = {
  title: '',
  summary: '',
  authors: [],
  method: null,
  results: {},
  keywords: [],
  node: null,
  study: null,
  replicates: null,
  supersedes: null,
  related: [],
};

/** A draft of a new version of a pack, with the full record of the previous one. */
export function newVersionOf(pack: Pack): Draft {
  return { ...draftOfRecord(pack), supersedes: pack.id };
}

type DraftedRecord = Omit<PackRecord, 'pack_format' | 'terms_version' | 'license' | 'outcome' | 'files'> &
  Partial<Pick<PackRecord, 'license' | 'outcome'>>;

/** A draft with everything of a record but its files. */
function draftOfRecord(pack: DraftedRecord): Draft {
  return {
    ...emptyDraft(),
    title: pack.title,
    summary: pack.summary,
    authors: pack.authors.map(draftAuthorOf),
    license: pack.license ?? null,
    outcome: pack.outcome ?? null,
    hasMethod: pack.method !== null,
    method: {
      text: pack.method?.text ?? '',
      link: pack.method?.link ?? '',
      complete: pack.method?.complete ?? null,
    },
    results: Object.entries(pack.results).map(collectionResultOf),
    keywords: pack.keywords,
    node: pack.node,
    study: pack.study,
    replicates: pack.replicates,
    supersedes: pack.supersedes,
    related: pack.related.map((related) => ({ key: rowKey(), ...related })),
  };
}

/** A draft of a replication. Only what both packs have in common is copied: it is other people's work. */
export function replicationOf(pack: Pack): Draft {
  return {
    ...emptyDraft(),
    title: `Replication of: ${pack.title}`.slice(0, 300),
    hasMethod: pack.method !== null,
    method: {
      text: pack.method?.text ?? '',
      link: pack.method?.link ?? '',
      // Whether it is complete is for the uploader to say, and not for the original's authors.
      complete: null,
    },
    results: Object.entries(pack.results).map(([name, value]) => ({
      ...collectionResultOf([name, value]),
      value: '',
    })),
    keywords: pack.keywords,
    node: pack.node,
    study: pack.study,
    replicates: { pack: pack.id, verdict: null, note: '' },
  };
}

function collectionResultOf([name, value]: [string, Pack['results'][string]]): DraftResult {
  const type =
    value === null
      ? 'null'
      : typeof value === 'boolean'
        ? 'boolean'
        : typeof value === 'number'
          ? 'number'
          : 'text';
  return { key: rowKey(), name, type, value: value === null ? '' : String(value) };
}

const AUTHORS_KEY = 'strongroom-authors';

type Author = Pick<Pack['authors'][number], 'name' | 'orcid' | 'affiliation'>;

/** Remembers the authors of a published pack for the next one. Without storage, they are typed again. */
export function rememberAuthors(authors: readonly Author[]): void {
  try {
    localStorage.setItem(AUTHORS_KEY, JSON.stringify(authors));
  } catch {
    // A full or disabled storage must not stop publishing.
  }
}

/** The authors of the last pack published in this browser. */
function rememberedAuthors(): Author[] {
  try {
    return JSON.parse(globalThis.localStorage?.getItem(AUTHORS_KEY) ?? '[]') as Author[];
  } catch {
    return [];
  }
}
