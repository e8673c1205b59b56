import { Stack } from '@mantine/core';
import { IconClockCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Timestamp } from '../../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { urlOf } from '../../../api/client.ts';
import { useCall, useSave } from '../../../api/useCall.ts';
import { TimestampQuestion, useTimestampQuestion } from '../../../components/content/TimestampQuestion.tsx';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../../components/forms/buttons.tsx';
import { Section } from '../../../components/layout/Page.tsx';
import { formatCount } from '../../../format.ts';
import { useIsOwner } from '../../../state/session.ts';

/** The timestamps of the ledger: which entries they cover, since when, and by whom. */
export function Timestamps() {
  const isOwner = useIsOwner();
  const stamps = useCall('listTimestamps', { query: { limit: MAX_LIST_LIMIT } });
  const states = useCall('readAuthorities', {}, { enabled: isOwner });
  const isAsking = useTimestampQuestion();
  const authorities = states.data?.authorities ?? [];
  return (
    <Section title="Timestamps">
      <Stack gap="sm" align="stretch">
        <p className="muted">
          Independent authorities signed that these entries existed at these times. Their clocks and keys do
          not depend on this node.
        </p>
        {isAsking && <TimestampQuestion />}
        {stamps.error && <ErrorNote error={stamps.error} onRetry={() => void stamps.refetch()} />}
        {stamps.data?.total === 0 && !isAsking && (
          <EmptyState title="No timestamps yet">
            {isOwner ? (
              <>
                {authorities.length === 0 && (
                  <>
                    Add an authority in the <Link to="/settings#proof">settings</Link>.{' '}
                  </>
                )}
                Until then, the time of an entry is only known from this node’s clock.
              </>
            ) : (
              'The time of an entry is only known from this node’s clock.'
            )}
          </EmptyState>
        )}
        {stamps.data && stamps.data.total > 0 && <TimestampTable items={stamps.data.items} />}
        {authorities
          .filter(({ error }) => error !== null)
          .map(({ authority, error }) => (
            <ErrorNote key={authority} error={new Error(`${authority} returned no timestamp. ${error}`)} />
          ))}
        {authorities.length > 0 && <StampNow />}
      </Stack>
    </Section>
  );
}

function StampNow() {
  const stamp = useSave('requestTimestamps', () => ({}));
  return (
    <IconButton
      icon={IconClockCheck}
      style={{ alignSelf: 'start' }}
      loading={stamp.isPending}
      onClick={() => stamp.mutate()}
    >
      Timestamp now
    </IconButton>
  );
}

function TimestampTable({ items }: { items: readonly Timestamp[] }) {
  return (
    <DataTable
      caption="Timestamps"
      rows={items}
      rowKey={({ id }) => id}
      columns={[
        { id: 'entries', header: 'Entries', width: '9rem', cell: ({ size }) => entriesUpTo(size) },
        {
          id: 'at',
          header: 'Existed before',
          width: '14rem',
          cell: ({ at }) => <TimeText at={at} show="exact" />,
        },
        {
          id: 'authority',
          header: 'Authority',
          cell: ({ authority }) => <span className="wrap-anywhere">{authority}</span>,
        },
        { id: 'files', header: 'Files', width: '11rem', cell: ({ id }) => <TimestampFiles id={id} /> },
      ]}
    />
  );
}

function entriesUpTo(size: number): string {
  return size === 1 ? '1' : `1 to ${formatCount(size)}`;
}

/** The two files with which anybody can verify a timestamp by `openssl ts -verify`. */
function TimestampFiles({ id }: { id: string }) {
  return (
    <>
      <a href={urlOf('readTimestamp', { params: { id } })} download>
        Reply
      </a>{' '}
      <a href={urlOf('readTimestampedText', { params: { id } })} download>
        Stamped text
      </a>
    </>
  );
}
