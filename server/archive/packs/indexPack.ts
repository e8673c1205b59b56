import { type PackRecord, tagOf } from '../../../shared/archive/pack.ts';
import { addPackFilter, indexPackText, type PackFilter } from '../../store/sqlite/archive/packLists.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { foldedText } from '../foldedText.ts';

/** Adds a pack to the full-text index and to the filters of lists. */
export function indexPack(database: WriteDatabase, pack: number, digest: string, record: PackRecord): void {
  for (const filter of filtersOf(record)) addPackFilter(database, pack, filter);
  indexPackText(database, pack, {
    title: record.title,
    summary: record.summary,
    authors: record.authors
      .map(({ name, orcid, affiliation }) => `${name} ${orcid ?? ''} ${affiliation}`)
      .join('\n'),
    keywords: record.keywords.join('\n'),
    method: record.method?.text ?? '',
    results: Object.keys(record.results).join('\n'),
    // The id is a prefix of this text, so a prefix of the id or of the digest finds the pack.
    identity: `pk_${digest}`,
  });
}

function filtersOf(record: PackRecord): PackFilter[] {
  const { outcome, license, study, replicates, authors, keywords, node } = record;
  const filters: PackFilter[] = [
    { filter: 'outcome', value: outcome },
    { filter: 'license', value: license },
    { filter: 'tag', value: tagOf(record) },
    { filter: 'flagged', value: 'false' },
  ];
  if (study !== null) filters.push({ filter: 'study', value: study });
  if (replicates !== null) {
    filters.push({ filter: 'verdict', value: replicates.verdict });
    filters.push({ filter: 'replicates', value: replicates.pack });
  }
  for (const path of node === null ? [] : pathPrefixes(node)) filters.push({ filter: 'node', value: path });
  for (const { name, orcid } of authors) {
    for (const value of authorValues(name, orcid)) filters.push({ filter: 'author', value });
  }
  for (const keyword of keywords) filters.push({ filter: 'keyword', value: foldedText(keyword) });
  return filters;
}

/** Returns `a`, `a/b` and `a/b/c` for `a/b/c`. */
export function pathPrefixes(path: string): string[] {
  const segments = path.split('/');
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'));
}

/** An author can be found by the full name, by any word of it, and by ORCID iD. */
function authorValues(name: string, orcid: string | null): string[] {
  const fullName = foldedText(name);
  return [
    fullName,
    ...fullName.split(/[^\p{L}\p{N}'’-]+/u).filter(Boolean),
    ...(orcid === null ? [] : [foldedText(orcid)]),
  ];
}
