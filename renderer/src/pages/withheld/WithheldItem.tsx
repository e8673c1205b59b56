import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
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
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton } from '../../components/forms/buttons.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import type { WithheldTarget } from '../../state/withheld.ts';
import { ReleaseDialog } from './ReleaseDialog.tsx';
import { WhereStill } from './WhereStill.tsx';
import classes from './WithheldPage.module.css';

/** A withholding in force: what, why, since when, what it covers, where it still is, and what the owner can do. */
export function WithheldItem({ withholding }: { withholding: Withholding }) {
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
export function ReleasedItem({ release }: { release: Release }) {
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
