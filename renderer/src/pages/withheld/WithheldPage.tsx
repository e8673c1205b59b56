import { Tabs } from '@mantine/core';
import { useCall } from '../../api/useCall.ts';
import { Pager, useUrlOffset } from '../../components/data/DataTable.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { ReleasedItem, WithheldItem } from './WithheldItem.tsx';
import classes from './WithheldPage.module.css';

const PAGE_SIZE = 30;
const TAB = ['tab'] as const;
const RESET = ['offset'];

/** What visitors may not read and what was given up, with why and since when. */
export default function WithheldPage() {
  const isOwner = useIsOwner();
  const { values, set } = useUrlFilters(TAB, RESET);
  const isReleased = values.tab === 'released';
  const first = { query: { limit: 1 } };
  const counts = { withheld: useCall('listWithheld', first), released: useCall('listReleased', first) };
  const label = (name: string, { data }: { data?: { total: number } | undefined }) =>
    data ? `${name} (${formatCount(data.total)})` : name;
  return (
    <Page
      title="Withheld"
      lead={
        isOwner
          ? 'What visitors do not see, and what you gave up for good. Records, digests and their proofs stay public, and so do the reasons and notes on this page.'
          : 'What the owner of this archive does not show, and what was given up. The records, the digests and their proofs are public.'
      }
    >
      <Tabs
        value={isReleased ? 'released' : 'withheld'}
        onChange={(tab) => set({ tab: tab === 'released' ? tab : '' })}
        keepMounted={false}
        classNames={{ list: classes.tabList, tab: classes.tab }}
      >
        <Tabs.List aria-label="Withheld and released">
          <Tabs.Tab value="withheld">{label('Withheld', counts.withheld)}</Tabs.Tab>
          <Tabs.Tab value="released">{label('Released', counts.released)}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="withheld" pt="md">
          <WithheldList isOwner={isOwner} />
        </Tabs.Panel>
        <Tabs.Panel value="released" pt="md">
          <ReleasedList isOwner={isOwner} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function WithheldList({ isOwner }: { isOwner: boolean }) {
  const [offset, turn] = useUrlOffset();
  const list = useCall('listWithheld', { query: { limit: PAGE_SIZE, offset } }, { keepPrevious: true });
  if (list.error) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <p className="muted">Loading…</p>;
  if (list.data.total === 0) {
    return (
      <EmptyState title="Everything is shown">
        {isOwner
          ? 'To hold back an object, a page capture or the files of a pack, open it and turn on “Not shown to visitors”.'
          : 'The owner of this archive withholds nothing.'}
      </EmptyState>
    );
  }
  return (
    <div className="stack gap-4">
      <ul className="plain stack gap-3" aria-label="Withheld, newest first">
        {list.data.items.map((withholding) => (
          <WithheldItem key={withholding.ledger_entry} withholding={withholding} />
        ))}
      </ul>
      <Pager what="withholdings" total={list.data.total} limit={PAGE_SIZE} offset={offset} onOffset={turn} />
      {isOwner && (
        <p className="small muted measure">
          Another node that mirrored the bytes before has them. With its next mirror it withholds them too,
          unless its owner decides otherwise. This node cannot take them back.
        </p>
      )}
    </div>
  );
}

function ReleasedList({ isOwner }: { isOwner: boolean }) {
  const [offset, turn] = useUrlOffset();
  const list = useCall('listReleased', { query: { limit: PAGE_SIZE, offset } }, { keepPrevious: true });
  if (list.error) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <p className="muted">Loading…</p>;
  if (list.data.total === 0) {
    return (
      <EmptyState title="Nothing was given up">
        {isOwner
          ? 'Bytes that you release for good are removed from this disk and from the copies. They are then listed here.'
          : 'All bytes that this archive recorded are kept.'}
      </EmptyState>
    );
  }
  return (
    <div className="stack gap-4">
      <ul className="plain stack gap-3" aria-label="Released, newest first">
        {list.data.items.map((release) => (
          <ReleasedItem key={release.ledger_entry} release={release} />
        ))}
      </ul>
      <Pager what="releases" total={list.data.total} limit={PAGE_SIZE} offset={offset} onOffset={turn} />
    </div>
  );
}
