import type { PacksQuery } from '../../../shared/archive/pack.ts';
import {
  type PackFilter,
  type PackFilterName,
  type PackOrder,
  selectPacks,
} from '../../store/sqlite/archive/packLists.ts';
import { approximateExpression, matchExpression } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';
import { foldedText } from '../foldedText.ts';
import { packTexts } from './readPack.ts';

/** One page of packs: their JSON texts (read lazily), their number, and the total number of matches. */
export interface PackPage {
  texts: Iterable<string>;
  count: number;
  total: number;
}

export function listPacks({ read }: Pick<Store, 'read'>, query: PacksQuery): PackPage {
  const order = query.sort.replace(/^-/, '') as PackOrder;
  const { entries, total } = read
    .transaction(() =>
      selectPacks(read, {
        filters: filtersOf(query),
        match: query.q === undefined ? undefined : matchExpression(query.q),
        rough: query.q === undefined ? undefined : approximateExpression(query.q),
        order,
        descending: query.sort.startsWith('-'),
        limit: query.limit,
        offset: query.offset,
      }),
    )
    .deferred();
  return { texts: packTexts(read, entries), count: entries.length, total };
}

const EXACT = ['node', 'study', 'outcome', 'license', 'tag', 'verdict', 'replicates'] as const;
const FOLDED = ['author', 'keyword'] as const;

function filtersOf(query: PacksQuery): PackFilter[] {
  const filters: PackFilter[] = [];
  const add = (filter: PackFilterName, value: string | undefined) => {
    if (value !== undefined) filters.push({ filter, value });
  };
  for (const name of EXACT) add(name, query[name]);
  for (const name of FOLDED) add(name, query[name] === undefined ? undefined : foldedText(query[name]));
  add('flagged', query.flagged === undefined ? undefined : String(query.flagged));
  return filters;
}
