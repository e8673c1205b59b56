import { Button, Checkbox } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type {
  ChosenLinks,
  FollowPreview as FollowPreviewResult,
  FoundLink,
  FoundState,
} from '../../../../shared/collection/follow.ts';
import type { FollowPreviewRequest, WatchedSource } from '../../../../shared/collection/source.ts';
import { call } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { Pager } from '../../components/data/DataTable.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, formatCount } from '../../format.ts';
import { type FollowDraft, followOf, type SourceDraft, withScheme } from './sourceForm.ts';
import classes from './sources.module.css';
import { useSelection } from './useSources.ts';

interface FoundListProps {
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
          ? 'Nothing to review. New addresses appear here after the next check.'
          : 'No addresses found yet.'}
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
      <ul className="plain">
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
      <Pager
        what="addresses"
        one="address"
        total={data.total}
        limit={PAGE_ROWS}
        offset={offset}
        onOffset={setOffset}
      />
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
    <li className={`${classes.row} grid gap-3 start`} data-plain={!canChoose || undefined}>
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
      <div className="stack gap-1">
        {state === 'added' ? (
          <Link to={`/sources/${id}`} onClick={onLeave} className="wrap-anywhere">
            {name}
          </Link>
        ) : (
          <span className="wrap-anywhere">{name}</span>
        )}
        {title && <span className="wrap-anywhere small muted">{url}</span>}
        {!isOfSource && (
          <span className="muted small">
            in{' '}
            <Link to={`/sources/${found_in.id}`} onClick={onLeave}>
              {found_in.name || found_in.url}
            </Link>
          </span>
        )}
      </div>
      <div className={`${classes.foundState} small text-end`}>
        {unlinked_at ? (
          <span className="warn">
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
  refused: 'rejected, found',
  added: 'watched, found',
};

interface FoundActionsProps {
  /** The ids of the chosen addresses; if there are none, the buttons act on all that wait. */
  chosen: readonly string[];
  source: string | undefined;
  selectAll: ReactNode;
  onDone: () => void;
}

/** Approves or rejects the addresses to review. */
function FoundActions({ chosen, source, selectAll, onDone }: FoundActionsProps) {
  const body: ChosenLinks =
    chosen.length > 0 ? { ids: [...chosen] } : { all: true, ...(source !== undefined && { source }) };
  const approve = useSave('approveFound', () => ({ body }), { onSaved: onDone });
  const refuse = useSave('refuseFound', () => ({ body }), { onSaved: onDone });
  const isPending = approve.isPending || refuse.isPending;
  const error = approve.error ?? refuse.error;
  const which = chosen.length > 0 ? 'selected' : 'all';
  return (
    <>
      <div className="hint mt-3 mb-2 cluster gap-2 compact">
        {selectAll}
        <Button size="xs" loading={approve.isPending} disabled={isPending} onClick={() => approve.mutate()}>
          Approve {which}
        </Button>
        <Button
          size="xs"
          variant="default"
          loading={refuse.isPending}
          disabled={isPending}
          onClick={() => refuse.mutate()}
        >
          Reject {which}
        </Button>
      </div>
      {error && <ErrorNote error={error} />}
    </>
  );
}

const WORDS = {
  links: 'Links of this page',
  feed: 'Items of this feed',
  sitemap: 'Addresses of this sitemap',
} as const;

/** On the page of a followed source: what its newest version links to or lists, and what became of it. */
export function FollowedLinks({ source }: { source: WatchedSource }) {
  const { follow, follow_run: run } = source;
  if (!follow) return null;
  return (
    <Section title={WORDS[follow.kind]}>
      <p className="muted small">
        {run ? (
          <>
            {run.problem && `${run.problem} `}
            {countOf(run.listed, 'address', 'addresses')} read <TimeText at={run.at} />, of which{' '}
            {run.matched} {run.matched === 1 ? 'matches' : 'match'}. Limit: {follow.limit}.
          </>
        ) : (
          'Read at the next check.'
        )}
      </p>
      <FoundList source={source.id} />
    </Section>
  );
}

/** Shows what following an address would find now, on request. Nothing is recorded. */
export function FollowPreview({ draft }: { draft: FollowDraft & Pick<SourceDraft, 'url' | 'profile'> }) {
  const preview = useMutation({
    mutationFn: (body: FollowPreviewRequest) => call('previewFollow', { body }),
  });
  const follow = followOf(draft);
  if (!follow) return null;
  const request = { url: withScheme(draft.url.trim()), follow, profile: draft.profile || null };
  // What was found with other settings says nothing of these.
  const isCurrent = JSON.stringify(preview.variables) === JSON.stringify(request);
  const found = isCurrent ? preview.data : undefined;
  return (
    <div className="stack gap-3">
      <div className="cluster gap-3">
        <Button
          variant="default"
          size="xs"
          loading={preview.isPending}
          disabled={request.url === ''}
          onClick={() => preview.mutate(request)}
        >
          Show what this finds
        </Button>
        <span className="muted small">Nothing is recorded.</span>
      </div>
      <div aria-live="polite">{found && <PreviewedLinks found={found} approve={follow.approve} />}</div>
      {isCurrent && preview.error && <ErrorNote error={preview.error} />}
    </div>
  );
}

function PreviewedLinks({ found, approve }: { found: FollowPreviewResult; approve: boolean }) {
  const { listed, matched, known, added, items, problem } = found;
  const verb = approve ? 'would wait for your review' : 'would be watched';
  return (
    <div className="stack gap-2 small">
      {problem && <p>{problem}</p>}
      {listed > 0 && (
        <p>
          {countOf(listed, 'address', 'addresses')} read, of which {formatCount(matched)}{' '}
          {matched === 1 ? 'matches' : 'match'}.{' '}
          {known > 0 && `${formatCount(known)} of them known already. `}
          <strong>
            {added === 0 ? `None ${verb} now.` : `${countOf(added, 'address', 'addresses')} ${verb} now`}
            {added > 0 && ':'}
          </strong>
        </p>
      )}
      {items.length > 0 && (
        // A long list scrolls in its own box, which must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section className={classes.previewed} tabIndex={0} aria-label="What this finds">
          <ul className="plain ruled" aria-label="Addresses that this finds">
            {items.map(({ url, title }) => (
              <li key={url} className="wrap-anywhere">
                {title && <span className="strong">{title} </span>}
                <span className="mono muted">{url}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {added > items.length && <p>…and {formatCount(added - items.length)} more.</p>}
    </div>
  );
}
