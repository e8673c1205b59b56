import type { Pack, PackRecord } from '../../../../shared/archive/pack.ts';
import { type Draft, type DraftResult, draftAuthorOf, emptyDraft, rowKey } from './draft.ts';

/** A draft of a new version of a pack, with the full record of the previous one. */
export function newVersionOf(pack: Pack): Draft {
  return { ...draftOfRecord(pack), supersedes: pack.id };
}

type DraftedRecord = Omit<PackRecord, 'pack_format' | 'terms_version' | 'license' | 'outcome' | 'files'> &
  Partial<Pick<PackRecord, 'license' | 'outcome'>>;

/** A draft with everything of a record but its files. */
export function draftOfRecord(pack: DraftedRecord): Draft {
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
