import { useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useIsOwner } from '../../state/session.ts';
import { CheckpointCheck } from './checkpoint/CheckpointCheck.tsx';
import { Entries } from './entries/Entries.tsx';
import { HeadPanel } from './HeadPanel.tsx';
import { KeyHistory } from './KeyHistory.tsx';
import { Timestamps } from './proof/Timestamps.tsx';
import { Witnesses } from './proof/Witnesses.tsx';
import { PAGE_ENTRIES, useLedgerPage } from './useLedgerPage.ts';
import { VerifyPanel } from './VerifyPanel.tsx';

/** The ledger: head, verification and entries, newest first. */
export default function LedgerPage() {
  const isOwner = useIsOwner();
  const [search, setSearch] = useSearchParams();
  const { hash } = useLocation();
  // Links in older texts name the entry in the query.
  const chosen = wholeNumberIn(hash.slice(1)) ?? wholeNumberIn(search.get('from') ?? '');
  const top = wholeNumberIn(search.get('top') ?? '') ?? topFor(chosen);
  const { data, error, refetch } = useLedgerPage(top);
  const [showCheck, setShowCheck] = useState(false);
  // Paging away from the entry in the URL clears it.
  const goTo = (seq: number | undefined) => setSearch(seq === undefined ? {} : { top: String(seq) });
  return (
    <Page
      title="Ledger"
      lead="Every record of this node, in order. Each entry contains the hash of the previous one, so a change to any entry shows in all that follow."
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data && (
        <>
          <HeadPanel head={data.head} isChecking={showCheck} onCheck={() => setShowCheck(!showCheck)} />
          {showCheck && <CheckpointCheck />}
          {data.head.seq > 0 && <VerifyPanel head={data.head} />}
          <Section title="Entries">
            {data.head.seq === 0 ? (
              <EmptyState title="No entries yet">
                The first subject, pack, study, comment, source or event creates the first entry.
              </EmptyState>
            ) : (
              <Entries
                page={data}
                error={error}
                onRetry={() => void refetch()}
                chosen={chosen}
                onGoTo={goTo}
              />
            )}
          </Section>
          <Timestamps />
          {isOwner && <Witnesses />}
          <KeyHistory />
        </>
      )}
      {!data && !error && <p className="muted">Loading…</p>}
    </Page>
  );
}

function wholeNumberIn(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** The page with the entry in the middle. */
function topFor(seq: number | undefined): number | undefined {
  return seq === undefined ? undefined : seq + Math.floor(PAGE_ENTRIES / 2);
}
