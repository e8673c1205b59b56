import { eventTitle } from '../../../shared/collection/eventText.ts';
import type { EntryTitle } from '../../../shared/ledger/ledger.ts';
import { type EntryTitleRow, titlesFrom } from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';

/** Returns what entries are about, in words. What no entry proves: a source may have another name today. */
export function listEntryTitles(
  { read }: Pick<Store, 'read'>,
  { from, limit }: { from: number; limit: number },
): EntryTitle[] {
  return titlesFrom(read, from, limit).map((row) => ({ seq: row.seq, title: wordsOf(row) }));
}

function wordsOf({ title, event_type, retrievals }: EntryTitleRow): string | null {
  if (retrievals !== null) return retrievals === 1 ? '1 retrieval' : `${retrievals} retrievals`;
  return title !== null && event_type ? eventTitle({ event_type }, title) : title;
}
