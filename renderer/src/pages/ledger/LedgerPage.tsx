import { IconDeviceFloppy, IconFileSearch } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'react-router';
import type { KeyChange, LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { readText } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { DigestChip, Facts, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../components/forms/buttons.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { CheckpointCheck } from './checkpoint/CheckpointCheck.tsx';
import { Entries, PAGE_ENTRIES, useLedgerPage } from './Entries.tsx';
import { saveCheckpoint } from './ledgerActions.ts';
import { Timestamps } from './proof/Timestamps.tsx';
import { KeyText, Witnesses } from './proof/Witnesses.tsx';
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
          <IconButton icon={IconDeviceFloppy} loading={save.isPending} onClick={() => save.mutate()}>
            Save checkpoint
          </IconButton>
          <IconButton icon={IconFileSearch} aria-expanded={isChecking} onClick={onCheck}>
            Check a saved checkpoint
          </IconButton>
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

/** The verifier key of the node's checkpoints, and how it changed. */
function KeyHistory() {
  const key = useQuery({
    queryKey: ['readLedgerKey'],
    queryFn: async ({ signal }) => (await readText('readLedgerKey', signal)).trim(),
  });
  const changes = useCall('listKeyChanges', { query: { limit: MAX_LIST_LIMIT } });
  return (
    <Section title="Key">
      <p className="muted">
        Every checkpoint is signed with this node’s key. Compare the verifier key with a copy from someone you
        trust.
      </p>
      {key.error && <ErrorNote error={key.error} onRetry={() => void key.refetch()} />}
      {key.data && <KeyText text={key.data} what="the verifier key" />}
      {changes.error && <ErrorNote error={changes.error} onRetry={() => void changes.refetch()} />}
      {changes.data?.total === 0 && <p className="muted small">The key has never changed.</p>}
      {changes.data && changes.data.total > 0 && (
        <ol className="plain mt-4 stack gap-4" aria-label="Key changes">
          {changes.data.items.map((change) => (
            <li key={change.ledger_entry} className="card">
              <Change change={change} />
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

function Change({ change }: { change: KeyChange }) {
  return (
    <>
      <p>
        <strong>{change.type === 'key.renewed' ? 'Key renewed' : 'Ledger rolled back'}</strong>{' '}
        <TimeText at={change.at} />,{' '}
        <Link to={`/ledger#${change.ledger_entry}`}>entry {formatCount(change.ledger_entry)}</Link>.{' '}
        {describeChange(change)}
      </p>
      <dl className="mt-2 pairs">
        <dt>Old key</dt>
        <dd>
          {change.old_key === null ? (
            <span className="muted">unknown</span>
          ) : (
            <KeyText text={change.old_key} what="the old key" />
          )}
        </dd>
        <dt>New key</dt>
        <dd>
          <KeyText text={change.new_key} what="the new key" />
        </dd>
      </dl>
    </>
  );
}

function describeChange(change: KeyChange): string {
  if (change.type === 'key.renewed')
    return change.signature === null
      ? 'The old key was lost, so it did not sign the new one.'
      : 'The old key signed the new one.';
  const { from, to } = change;
  const before = from.seq === null ? 'an unknown number of entries' : `entry ${formatCount(from.seq)}`;
  return `The ledger had reached ${before}. The owner continued from entry ${formatCount(to.seq ?? 0)}, and the entries in between were lost.`;
}
