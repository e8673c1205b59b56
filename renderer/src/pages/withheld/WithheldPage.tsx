import { Button, Tabs } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import type { Copy } from '../../../../shared/node/copy.ts';
import type { Release, Withholding } from '../../../../shared/node/withheld.ts';
import { useCall } from '../../api/useCall.ts';
import {
  type Named,
  NameOf,
  ShowDialog,
  useNameOf,
  useObjectName,
  WithheldMark,
} from '../../components/content/Withheld.tsx';
import { Pager, useUrlOffset } from '../../components/data/DataTable.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton } from '../../components/forms/buttons.tsx';
import { useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { copyPlace, countOf, formatBytes, formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import type { WithheldTarget } from '../../state/withheld.ts';
import { ReleaseDialog } from './ReleaseDialog.tsx';
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
        classNames={{ list: 'tab-list', tab: 'tab' }}
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

/** A withholding in force: what, why, since when, what it covers, where it still is, and what the owner can do. */
function WithheldItem({ withholding }: { withholding: Withholding }) {
  const { ledger_entry, reason, at, note } = withholding;
  const isOwner = useIsOwner();
  const named = useNameOf(withholding);
  const isChosen = useLocation().hash === `#${ledger_entry}`;
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: 'center' });
  }, [isChosen]);
  return (
    <li
      ref={element}
      className={`${classes.item} card stack gap-3`}
      data-chosen={isChosen || undefined}
      aria-label={named.text}
    >
      <div className="stack gap-2">
        <div>
          <h2 className="large wrap-anywhere">
            <NameOf named={named} />
          </h2>
          <p className="small muted">{named.kind}</p>
        </div>
        <p className="cluster gap-3">
          <WithheldMark kind="withheld" reason={reason} since={at} />
          <span className="small muted">
            since <TimeText at={at} />,{' '}
            <Link to={`/ledger#${ledger_entry}`}>entry {formatCount(ledger_entry)}</Link>
          </span>
        </p>
        {note && <p className="measure keep-lines wrap-anywhere">{note}</p>}
        <Covered withholding={withholding} />
        {isOwner && <WhereStill entry={ledger_entry} />}
      </div>
      {isOwner && <Actions withholding={withholding} named={named} />}
    </li>
  );
}

function Actions({ withholding, named }: { withholding: Withholding; named: Named }) {
  const [isShowing, showing] = useDisclosure(false);
  const [isReleasing, releasing] = useDisclosure(false);
  return (
    <div className={`${classes.buttons} cluster gap-2`}>
      <ItemButton label="Show again" of={named.text} onClick={showing.open} />
      {withholding.objects > 0 && (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Release for good: ${named.text}`}
          onClick={releasing.open}
        >
          Release for good…
        </Button>
      )}
      {isShowing && <ShowDialog target={targetOf(withholding)} what={named.what} onClose={showing.close} />}
      {isReleasing && <ReleaseDialog withholding={withholding} onClose={releasing.close} />}
    </div>
  );
}

function targetOf({ sha256, retrieval, pack, page }: Withholding): WithheldTarget {
  if (sha256 !== null) return { sha256 };
  if (pack !== null) return { pack };
  if (page !== null) return { page };
  return { retrieval: retrieval ?? 0 };
}

/** At most so many digests are listed; the API has all. */
const LISTED = 100;

/** How many digests a withholding covers, and which. */
function Covered({ withholding: { ledger_entry, objects } }: { withholding: Withholding }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  if (objects === 0) return <p className="small muted">Its bytes were given up since.</p>;
  return (
    <div className="stack gap-2 small">
      <p>
        <button type="button" className="bare accent" aria-expanded={isOpen} onClick={toggle}>
          {countOf(objects, 'digest')}
        </button>{' '}
        <span className="muted">covered</span>
      </p>
      {isOpen && <CoveredObjects entry={ledger_entry} />}
    </div>
  );
}

function CoveredObjects({ entry }: { entry: number }) {
  const { data, error } = useCall('listWithheldObjects', { query: { withholding: entry, limit: LISTED } });
  if (error) return <ErrorNote error={error} />;
  if (!data) return <output className="muted">Loading…</output>;
  return (
    <>
      <ul className="cluster gap-3 plain stretch" aria-label="Covered digests">
        {data.items.map(({ sha256, bytes }) => (
          <li key={sha256} className="line gap-2">
            <DigestChip digest={sha256} />
            <span className="muted numeric">{formatBytes(bytes)}</span>
          </li>
        ))}
      </ul>
      {data.next && <p className="muted">The largest {LISTED} are listed.</p>}
    </>
  );
}

/** Bytes that were given up: what they were, why, and when. */
function ReleasedItem({ release }: { release: Release }) {
  const { ledger_entry, sha256, bytes, reason, note, at } = release;
  const named = useObjectName(sha256);
  return (
    <li className="card stack gap-2" aria-label={named.text}>
      <div>
        <h2 className="large wrap-anywhere">
          <NameOf named={named} />
        </h2>
        <p className="cluster gap-3 small muted">
          <DigestChip digest={sha256} />
          <span className="numeric">{formatBytes(bytes)}</span>
        </p>
      </div>
      <p className="cluster gap-3">
        <WithheldMark kind="released" reason={reason} since={at} />
        <span className="small muted">
          <TimeText at={at} />, <Link to={`/ledger#${ledger_entry}`}>entry {formatCount(ledger_entry)}</Link>
        </span>
      </p>
      {note && <p className="measure keep-lines wrap-anywhere">{note}</p>}
    </li>
  );
}

const SHOWN = 100;

/**
 * In which copies that readers may look at the bytes still are, and which were cleaned of them. @param entry the ledger
 * entry of the withholding
 */
function WhereStill({ entry }: { entry: number }) {
  const { data } = useCall('listCopies', { query: { limit: SHOWN } });
  const open = data?.items.filter(({ pages }) => pages) ?? [];
  if (open.length === 0) return null;
  return (
    <ul className="plain stack gap-1 small" aria-label="Copies that readers may look at">
      {open.map((copy) => (
        <Place key={copy.id} copy={copy} entry={entry} />
      ))}
    </ul>
  );
}

function Place({ copy, entry }: { copy: Copy; entry: number }) {
  const { target, size, synced_at, last_error, withheld_in_the_clear } = copy;
  if (synced_at === null) return null;
  const place = <span className="wrap-anywhere">{copyPlace(target)}</span>;
  // What a copy holds of the ledger says whether its last sync knew of the withholding.
  if (size >= entry && withheld_in_the_clear === 0)
    return (
      <li className="line gap-2 baseline muted">
        <IconCircleCheck size={15} className="good" aria-hidden />
        <span>
          Not readable in {place} since its sync <TimeText at={synced_at} />
        </span>
      </li>
    );
  return (
    <li className="line gap-2 baseline">
      <IconAlertTriangle size={15} className="warn" aria-hidden />
      <span>
        Perhaps still readable in {place}: its last sync was <TimeText at={synced_at} />.
        {last_error && ` ${last_error}`} <Link to="/settings#copies">Sync it now</Link>
      </span>
    </li>
  );
}
