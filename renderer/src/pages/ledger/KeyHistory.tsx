import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { KeyChange } from '../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { readText } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';

/** The verifier key of the node's checkpoints, and how it changed. */
export function KeyHistory() {
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

/** A verifier key, to compare and to copy. `what` names it to screen readers. */
export function KeyText({ text, what }: { text: string; what: string }) {
  return (
    <p className="mt-1 mb-1 line gap-2 compact">
      <span className="mono wrap-anywhere">{text}</span>
      <CopyButton text={text} what={what} />
    </p>
  );
}
