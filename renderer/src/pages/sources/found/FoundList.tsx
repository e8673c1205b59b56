import { Checkbox } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { FoundLink, FoundState } from '../../../../../shared/collection/follow.ts';
import { useCall } from '../../../api/useCall.ts';
import { Pager } from '../../../components/data/Pager.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { useSelection } from '../list/useSelection.ts';
import { FoundActions } from './FoundActions.tsx';
import classes from './FoundList.module.css';

export interface FoundListProps {
  /** Only what this source links to or lists. */
  source?: string;
  state?: FoundState;
  /** Called when a link to another page is followed. */
  onLeave?: () => void;
}

const PAGE_ROWS = 50;
const REFRESH_MS = 15_000;

/** The addresses that followed sources link to; those that wait can be approved and refused. */
export function FoundList({ source, state, onLeave }: FoundListProps) {
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = useCall(
    'listFound',
    { query: { source, state, limit: PAGE_ROWS, offset } },
    { keepPrevious: true, refetchInterval: REFRESH_MS },
  );
  const waiting = (data?.items ?? []).filter((link) => link.state === 'waiting');
  const selection = useSelection(waiting.map(keyOf));
  const chosen = waiting.filter((link) => selection.has(keyOf(link)));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="muted">Loading…</p>;
  if (data.total === 0)
    return (
      <p className="muted">
        {state === 'waiting'
          ? 'No address waits for you. New ones appear here after the next check.'
          : 'No address was found yet.'}
      </p>
    );
  return (
    <>
      {waiting.length > 0 && (
        <FoundActions
          chosen={chosen.map(({ id }) => id)}
          source={source}
          onDone={selection.clear}
          selectAll={
            <Checkbox
              size="xs"
              label={chosen.length === 0 ? 'Select all on this page' : `${chosen.length} selected`}
              checked={chosen.length === waiting.length}
              indeterminate={chosen.length > 0 && chosen.length < waiting.length}
              onChange={(event) => selection.setAll(event.currentTarget.checked)}
            />
          }
        />
      )}
      <ul className={classes.list}>
        {data.items.map((link) => (
          <FoundRow
            key={keyOf(link)}
            link={link}
            isOfSource={source !== undefined}
            canChoose={waiting.length > 0}
            isChosen={selection.has(keyOf(link))}
            onChoose={(isChosen) => selection.toggle(keyOf(link), isChosen, false)}
            onLeave={onLeave}
          />
        ))}
      </ul>
      <Pager what="addresses" total={data.total} limit={PAGE_ROWS} offset={offset} onOffset={setOffset} />
    </>
  );
}

function keyOf({ id, found_in }: FoundLink): string {
  return `${found_in.id}/${id}`;
}

interface FoundRowProps {
  link: FoundLink;
  isOfSource: boolean;
  /** Whether some rows of the list can be chosen. */
  canChoose: boolean;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onLeave: (() => void) | undefined;
}

function FoundRow({ link, isOfSource, canChoose, isChosen, onChoose, onLeave }: FoundRowProps) {
  const { id, url, title, state, found_at, unlinked_at, found_in } = link;
  const name = title || url;
  const isWaiting = state === 'waiting';
  return (
    <li className={classes.row} data-plain={!canChoose || undefined}>
      {isWaiting ? (
        <Checkbox
          size="xs"
          aria-label={`Select ${name}`}
          checked={isChosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      ) : (
        canChoose && <span className={classes.none} />
      )}
      <div className={classes.words}>
        {state === 'added' ? (
          <Link to={`/sources/${id}`} onClick={onLeave} className="wrap-anywhere">
            {name}
          </Link>
        ) : (
          <span className="wrap-anywhere">{name}</span>
        )}
        {title && <span className={classes.url}>{url}</span>}
        {!isOfSource && (
          <span className="muted small">
            in{' '}
            <Link to={`/sources/${found_in.id}`} onClick={onLeave}>
              {found_in.name || found_in.url}
            </Link>
          </span>
        )}
      </div>
      <div className={classes.state}>
        {unlinked_at ? (
          <span className={classes.gone}>
            no longer linked (noticed <TimeText at={unlinked_at} />)
          </span>
        ) : (
          <span className="muted">
            {STATE_WORDS[state]} <TimeText at={found_at} />
          </span>
        )}
      </div>
    </li>
  );
}

const STATE_WORDS: Readonly<Record<FoundState, string>> = {
  waiting: 'found',
  refused: 'refused, found',
  added: 'watched, found',
};
