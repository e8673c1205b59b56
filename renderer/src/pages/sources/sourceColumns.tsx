import { Checkbox } from '@mantine/core';
import { type Column, RowLink } from '../../components/DataTable.tsx';
import { StateBadge } from '../../components/StateBadge.tsx';
import { TimeText } from '../../components/TimeText.tsx';
import { ArchivedChip } from '../timeline/ArchivedChip.tsx';
import { CheckStrip } from './CheckStrip.tsx';
import { failureWords } from './failureWords.ts';
import classes from './sourceColumns.module.css';
import type { SeenSource } from './useSources.ts';

const state: Column<SeenSource> = {
  id: 'state',
  header: 'State',
  width: '8rem',
  cell: (source) => (
    <span className={classes.state}>
      <StateBadge kind="source" value={source.state} />
      {source.paused && <StateBadge kind="mark" value="paused" />}
    </span>
  ),
};

const name: Column<SeenSource> = {
  id: 'name',
  header: 'Source',
  cell: (source) => (
    <div className={classes.source}>
      <RowLink to={`/sources/${source.id}`}>{source.name || source.url}</RowLink>
      {source.name && <span className={classes.url}>{source.url}</span>}
      {source.tags.length > 0 && (
        <span className={classes.tags}>
          {source.tags.map((tag) => (
            <span key={tag}>{tag}</span>
          ))}
        </span>
      )}
    </div>
  ),
};

const agency: Column<SeenSource> = {
  id: 'agency',
  header: 'Agency',
  hideBelow: 'medium',
  width: '11rem',
  cell: (source) => source.agency,
};

const checked: Column<SeenSource> = {
  id: 'checked',
  header: 'Last check',
  hideBelow: 'narrow',
  width: '8rem',
  cell: ({ last_checked_at: at, recent_checks = [] }) =>
    at ? (
      <span className={classes.state}>
        <TimeText at={at} />
        <CheckStrip checks={recent_checks} />
      </span>
    ) : (
      <span className="muted">not yet</span>
    ),
};

const next: Column<SeenSource> = {
  id: 'next',
  header: 'Next check',
  hideBelow: 'medium',
  width: '8rem',
  cell: ({ next_check_at: at, paused }) =>
    at ? <TimeText at={at} /> : <span className="muted">{paused ? 'when resumed' : 'not planned'}</span>,
};

const change: Column<SeenSource> = {
  id: 'change',
  header: 'Last event',
  hideBelow: 'medium',
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

const version: Column<SeenSource> = {
  id: 'version',
  header: 'Version',
  hideBelow: 'medium',
  width: '7rem',
  cell: ({ last_sha256: sha256 }) =>
    sha256 && <ArchivedChip sha256={sha256} label="digest of the last version" />,
};

const failure: Column<SeenSource> = {
  id: 'failure',
  header: 'Last error',
  hideBelow: 'narrow',
  width: '14rem',
  cell: ({ last_error, last_status = null, consecutive_failures = 0 }) =>
    last_error && (
      <span className={classes.failure}>
        {failureWords(last_error, last_status)}
        {consecutive_failures > 1 && <span className="muted"> ({consecutive_failures} times in a row)</span>}
      </span>
    ),
};

/** What a visitor sees of the sources. */
export const VISITOR_COLUMNS: readonly Column<SeenSource>[] = [state, name, agency, checked, change, version];

/** What the owner sees, with a box to select each by. */
export function ownerColumns(
  selected: ReadonlySet<string>,
  onSelect: (id: string, isSelected: boolean) => void,
): readonly Column<SeenSource>[] {
  const select: Column<SeenSource> = {
    id: 'select',
    header: '',
    width: '2.5rem',
    cell: (source) => (
      <Checkbox
        size="xs"
        aria-label={`Select ${source.name || source.url}`}
        checked={selected.has(source.id)}
        onChange={(event) => onSelect(source.id, event.currentTarget.checked)}
      />
    ),
  };
  return [select, state, name, agency, checked, next, change, version, failure];
}
