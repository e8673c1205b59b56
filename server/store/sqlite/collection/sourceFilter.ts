import type { SourceState } from '../../../../shared/collection/source.ts';

/** The filters of a list of watched sources; null matches all. */
export interface SourceFilter {
  match: string | null;
  agency: string | null;
  tag: string | null;
  state: SourceState | null;
  paused: boolean | null;
}

/** Returns the SQL conditions on `sources` for a filter's text, agency and tag, with named parameters. */
export function sourceConditions(filter: Omit<SourceFilter, 'state' | 'paused'>): string[] {
  const where: string[] = [];
  if (filter.match !== null)
    where.push('key IN (SELECT rowid FROM source_text WHERE source_text MATCH @match)');
  if (filter.agency !== null) where.push('agency = @agency');
  if (filter.tag !== null) where.push('key IN (SELECT source_key FROM source_tags WHERE tag = @tag)');
  return where;
}
