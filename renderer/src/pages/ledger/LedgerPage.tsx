import { Button } from '@mantine/core';
import { IconDeviceFloppy, IconFileSearch } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import type { LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { DigestChip, Facts } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { CheckpointCheck } from './checkpoint/CheckpointCheck.tsx';
import { Entries, PAGE_ENTRIES, useLedgerPage } from './entries/Entries.tsx';
import { KeyHistory } from './KeyHistory.tsx';
import { saveCheckpoint } from './ledgerActions.ts';
import { Timestamps } from './proof/Timestamps.tsx';
import { Witnesses } from './proof/Witnesses.tsx';
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

interface HeadPanelProps {
  head: LedgerHead;
  isChecking: boolean;
  onCheck: () => void;
}

/** The head of the ledger in three values, and the checkpoint to save. */
function HeadPanel({ head, isChecking, onCheck }: HeadPanelProps) {
  const save = useMutation({ mutationFn: saveCheckpoint });
  return (
    <section className="card mb-4 cluster gap-5 between" aria-label="Ledger head">
      <div className="grow">
        <Facts
          layout="line"
          facts={{
            Entries: <span className="serif large numeric">{formatCount(head.seq)}</span>,
            'Hash of the last entry': <DigestChip digest={head.hash} label="hash of the last entry" />,
            'Root of all entries': (
              <DigestChip digest={head.root} label="root of the tree over all entries" />
            ),
          }}
        />
      </div>
      <div className="measure-short stack gap-2">
        <div className="cluster gap-2 stretch">
          <Button
            variant="default"
            leftSection={<IconDeviceFloppy size={16} aria-hidden />}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            Save checkpoint
          </Button>
          <Button
            variant="default"
            leftSection={<IconFileSearch size={16} aria-hidden />}
            aria-expanded={isChecking}
            onClick={onCheck}
          >
            Check a saved checkpoint
          </Button>
        </div>
        <p className="small muted">
          A checkpoint is the size and the root of the ledger, signed by this node. Keep the file in another
          place. You can use it later to check whether the ledger was rewritten.
        </p>
        {save.error && <ErrorNote error={save.error} />}
      </div>
    </section>
  );
}
