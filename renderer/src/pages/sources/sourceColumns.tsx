import { Checkbox } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import {
  failureWords,
  PAGE_ERROR_SENTENCES,
  PAGE_ERROR_WORDS,
} from '../../../../shared/collection/retrievalWords.ts';
import { PageLabelNote } from '../../components/content/Retrieval.tsx';
import { type Column, RowLink } from '../../components/data/DataTable.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { LazyTooltip } from '../../components/feedback/LazyTooltip.tsx';
import { countOf, intervalText } from '../../format.ts';
import classes from './sources.module.css';
import type { Selection, VisibleSource } from './useSources.ts';

const state: Column<VisibleSource> = {
  id: 'state',
  header: 'State',
  sortKey: 'state',
  width: '8rem',
  hideBelow: 'narrow',
  cell: (source) => <States source={source} />,
};

function States({ source }: { source: VisibleSource }) {
  return (
    <span className={classes.state}>
      {!source.captures_only && <StateBadge kind="source" value={source.state} />}
      {source.captures_only ? (
        <StateBadge kind="mark" value="captures_only" />
      ) : (
        source.paused && <StateBadge kind="mark" value="paused" />
      )}
    </span>
  );
}

/** How many tags are shown in the list; the source's page shows all. */
const SHOWN_TAGS = 3;

const name: Column<VisibleSource> = {
  id: 'name',
  header: 'Source',
  sortKey: 'name',
  cell: (source) => (
    <div className={classes.source}>
      <RowLink to={`/sources/${source.id}`}>{source.name || source.url}</RowLink>
      <span className="cluster baseline gap-2 tiny muted">
        {source.name && <span className="clamp clamp-1 small muted">{source.url}</span>}
        {source.tags.slice(0, SHOWN_TAGS).map((tag) => (
          <span key={tag} className={classes.tag}>
            {tag}
          </span>
        ))}
        {source.tags.length > SHOWN_TAGS && <span title={source.tags.join(', ')}>and more</span>}
      </span>
      <div data-show="narrow">
        <States source={source} />
      </div>
      <Failure source={source} />
      {source.page_error && (
        <span className="line gap-1 baseline small warn" title={PAGE_ERROR_SENTENCES[source.page_error]}>
          <IconAlertTriangle size={14} stroke={1.9} aria-hidden />
          {PAGE_ERROR_WORDS[source.page_error]}
        </span>
      )}
      {/* What scripts draw is in the capture of the page. */}
      {source.page_label && !(source.last_page && source.page_label.label === 'script_shell') && (
        <span className="small">
          <PageLabelNote label={source.page_label} />
        </span>
      )}
    </div>
  ),
};

const agency: Column<VisibleSource> = {
  id: 'agency',
  header: 'Agency',
  sortKey: 'agency',
  hideBelow: 'medium',
  width: '12rem',
  cell: (source) => source.agency,
};

const checked: Column<VisibleSource> = {
  id: 'checked',
  header: 'Last check',
  sortKey: 'checked',
  hideBelow: 'narrow',
  width: '8rem',
  cell: ({ last_checked_at: at, recent_checks = [] }) =>
    at ? (
      <span className={classes.state}>
        <TimeText at={at} />
        <CheckStrip checks={recent_checks} />
      </span>
    ) : (
      <span className="muted">never</span>
    ),
};

const next: Column<VisibleSource> = {
  id: 'next',
  header: 'Next check',
  sortKey: 'next',
  hideBelow: 'wide',
  width: '8rem',
  cell: ({ next_check_at: at, paused, every_minutes: every }) => (
    <span className={classes.state}>
      {at ? <TimeText at={at} /> : <span className="muted">{paused ? 'when resumed' : 'none planned'}</span>}
      {every !== null && <span className="small muted">every {intervalText(every)}</span>}
    </span>
  ),
};

const change: Column<VisibleSource> = {
  id: 'change',
  header: 'Last event',
  sortKey: 'changed',
  hideBelow: 'narrow',
  width: '8.5rem',
  cell: ({ last_event_type: type, last_event_at: at }) =>
    type ? (
      <span className={classes.state}>
        <StateBadge kind="event" value={type} />
        {at && (
          <span className="small muted">
            <TimeText at={at} />
          </span>
        )}
      </span>
    ) : (
      <span className="muted">none</span>
    ),
};

/** Why the last check failed, shown below the source's name. */
function Failure({
  source: { last_error, last_status = null, consecutive_failures = 0 },
}: {
  source: VisibleSource;
}) {
  if (!last_error) return null;
  return (
    <span className="line gap-1 baseline small warn">
      <IconAlertTriangle size={14} stroke={1.9} aria-hidden />
      {failureWords(last_error, last_status)}
      {consecutive_failures > 1 && `, ${consecutive_failures} times in a row`}
    </span>
  );
}

/** The columns for visitors. */
export const VISITOR_COLUMNS: readonly Column<VisibleSource>[] = [state, name, agency, checked, change];

/** The columns for the owner, with a checkbox per row. */
export function ownerColumns(selection: Selection, selectAll: ReactNode): readonly Column<VisibleSource>[] {
  const select: Column<VisibleSource> = {
    id: 'select',
    header: 'Select',
    headerControl: selectAll,
    width: '2.25rem',
    cell: (source) => (
      <Checkbox
        size="xs"
        aria-label={`Select ${source.name || source.url}`}
        checked={selection.has(source.id)}
        onChange={(event) => {
          // A browser reports a click on a checkbox as its change, with the modifier keys.
          const { shiftKey = false } = event.nativeEvent as Partial<MouseEvent>;
          selection.toggle(source.id, event.currentTarget.checked, shiftKey);
        }}
      />
    ),
  };
  return [select, state, name, agency, checked, next, change];
}

/** The last checks as bars, oldest on the left. Full bars succeeded, short bars failed. */
export function CheckStrip({ checks }: { checks: readonly (string | null)[] }) {
  if (checks.length === 0) return null;
  const bars = checks.map((error, index) => ({ error, key: index }));
  return (
    <LazyTooltip label={summaryOf(checks)} maxWidth={300}>
      {(trigger) => (
        <span {...trigger} className={classes.strip}>
          {bars.map(({ error, key }) => (
            <span key={key} className={classes.check} data-failed={error !== null || undefined} aria-hidden />
          ))}
          <span className="visually-hidden">{summaryOf(checks)}</span>
        </span>
      )}
    </LazyTooltip>
  );
}

function summaryOf(checks: readonly (string | null)[]): string {
  const failures = checks.filter((error) => error !== null);
  const last = failures.at(-1);
  const which = checks.length === 1 ? 'The last check' : `Of the last ${countOf(checks.length, 'check')}`;
  if (last === undefined) return checks.length === 1 ? `${which} succeeded` : `${which}, all succeeded`;
  if (checks.length === 1) return `${which} failed: ${failureWords(last, null)}`;
  return `${which}, ${failures.length} failed; the last failure: ${failureWords(last, null)}`;
}
