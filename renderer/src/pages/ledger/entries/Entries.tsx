import { useEffect } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import type { LedgerPageData } from '../useLedgerPage.ts';
import { EntryChain } from './EntryChain.tsx';
import { EntryPager } from './EntryPager.tsx';

interface EntriesProps {
  page: LedgerPageData;
  /** Why the page could not be refreshed. */
  error: Error | null;
  onRetry: () => void;
  /** The entry in the URL. */
  chosen: number | undefined;
  /** Shows the page that ends with this entry, or the newest page if undefined. */
  onGoTo: (top: number | undefined) => void;
}

/** A page of entries. The chosen entry is scrolled into view. */
export function Entries({ page: { head, entries }, error, onRetry, chosen, onGoTo }: EntriesProps) {
  const isThere = entries.some(({ seq }) => seq === chosen);
  useEffect(() => {
    if (!isThere) return;
    document.getElementById(`entry-${chosen}`)?.scrollIntoView({ block: 'center' });
  }, [chosen, isThere]);
  return (
    <>
      <EntryPager label="Pages of entries" head={head.seq} entries={entries} onGoTo={onGoTo} />
      {error && <ErrorNote error={error} onRetry={onRetry} />}
      {chosen !== undefined && !isThere && chosen > head.seq && (
        <ErrorNote error={new Error(`Entry ${chosen} does not exist. The last entry is ${head.seq}.`)} />
      )}
      <EntryChain entries={entries} chosen={chosen} />
      <EntryPager label="Pages of entries (bottom)" head={head.seq} entries={entries} onGoTo={onGoTo} />
    </>
  );
}
