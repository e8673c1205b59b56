import { ActionIcon, Popover } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import {
  IconArrowLeft,
  IconChevronDown,
  IconClockHour4,
  IconDownload,
  IconFileZip,
  IconPackageExport,
  IconRss,
  IconTable,
  IconX,
  type TablerIcon,
} from '@tabler/icons-react';
import { useCallback, useMemo, useRef } from 'react';
import { useLocation, useNavigate, useParams } from 'react-router';
import { urlOf } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { exportFile, IconButton, IconLink } from '../../components/forms/buttons.tsx';
import { useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { useIsOwner } from '../../state/session.ts';
import { DensityStrip } from './DensityStrip.tsx';
import { EventDetails } from './EventDetails.tsx';
import { EVENT_FILTERS, EventFilterBar, type EventFilters, queryOf } from './EventFilterBar.tsx';
import { EventList } from './EventList.tsx';
import { ShortcutHelp } from './shortcuts.tsx';
import classes from './Timeline.module.css';
import type { EventListHandle } from './useEventRows.ts';

/** Below this width an event replaces the list. */
const TWO_PANES = '(min-width: 75em)';

/** All events, newest first. An event opens next to the list if there is room. */
export default function TimelinePage() {
  const { id } = useParams();
  const openId = id !== undefined && /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
  const { search } = useLocation();
  const filters = useUrlFilters(EVENT_FILTERS);
  const query = useEventQuery(filters.values);
  const hasRoom = useMediaQuery(TWO_PANES, undefined, { getInitialValueInEffect: false });
  const addressOfEvent = useCallback((event: number) => `/timeline/${event}${search}`, [search]);
  const list = useRef<EventListHandle>(null);
  if (id !== undefined && openId === undefined) return <NoSuchEvent id={id} />;
  if (openId !== undefined && !hasRoom) {
    return (
      <Page title={`Event ${openId}`} actions={<SinglePageActions search={search} />}>
        <EventDetails id={openId} addressOfEvent={addressOfEvent} />
      </Page>
    );
  }
  return (
    <div className={classes.page}>
      <Page
        title="Timeline"
        lead="Events of the watched sources. Events are never changed or backdated."
        actions={<ExportMenu query={query} />}
      >
        <EventFilterBar filters={filters} />
        <DensityStrip
          since={filters.values.since}
          until={filters.values.until}
          noise={query.noise}
          isFiltered={hasOtherFilters(filters.values)}
          onSelect={filters.set}
        />
        <div
          className={`${classes.panes} mt-4 stack gap-4 fill`}
          data-open={openId !== undefined || undefined}
        >
          <EventList
            ref={list}
            key={JSON.stringify(query)}
            query={query}
            isFiltered={filters.isAny}
            onClearFilters={filters.clear}
            openId={openId}
            addressOfEvent={addressOfEvent}
            opensSelected={hasRoom}
          />
          {openId !== undefined && (
            <EventPane
              id={openId}
              search={search}
              addressOfEvent={addressOfEvent}
              onStep={(by) => list.current?.step(by)}
            />
          )}
        </div>
      </Page>
    </div>
  );
}

/** The filters as the query of the shown events. */
function useEventQuery(filters: EventFilters) {
  const zone = useDisplaySettings((look) => look.zone);
  const isOwner = useIsOwner();
  return useMemo(() => {
    const { seen, ...others } = queryOf(filters, zone);
    // Visitors have no marks.
    return isOwner && seen !== undefined ? { ...others, seen } : others;
  }, [filters, zone, isOwner]);
}

/** Whether filters are set that the density strip ignores. */
function hasOtherFilters({ since: _since, until: _until, noise: _noise, ...others }: EventFilters): boolean {
  return Object.values(others).some(Boolean);
}

interface EventPaneProps {
  id: number;
  search: string;
  addressOfEvent: (id: number) => string;
  onStep: EventListHandle['step'];
}

function EventPane({ id, search, addressOfEvent, onStep }: EventPaneProps) {
  const navigate = useNavigate();
  const close = () => void navigate(`/timeline${search}`);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes the pane from anywhere in it
    <aside
      className={`${classes.pane} shrink scroll sheet`}
      aria-label={`Event ${id}`}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <header className="mb-3 line between">
        <h2>Event {id}</h2>
        <ActionIcon aria-label="Close event" onClick={close}>
          <IconX size={18} />
        </ActionIcon>
      </header>
      <EventDetails key={id} id={id} addressOfEvent={addressOfEvent} onStep={onStep} />
    </aside>
  );
}

function SinglePageActions({ search }: { search: string }) {
  return (
    <>
      <ShortcutHelp size="sm" />
      <BackButton search={search} />
    </>
  );
}

function BackButton({ search }: { search: string }) {
  return (
    <IconLink icon={IconArrowLeft} to={`/timeline${search}`}>
      Timeline
    </IconLink>
  );
}

function NoSuchEvent({ id }: { id: string }) {
  return (
    <Page title="Event not found" actions={<BackButton search="" />}>
      <ErrorNote error={new Error(`“${id}” is not an event number. Choose an event on the timeline.`)} />
    </Page>
  );
}

interface ExportMenuProps {
  /** The filters as query parameters. */
  query: Record<string, string | undefined>;
  /** The URL of the source, for its TimeMap. Set if the list is filtered by source. */
  sourceUrl?: string;
}

/** The export formats of the timeline: feed, table, web archive and TimeMap. */
export function ExportMenu({ query, sourceUrl }: ExportMenuProps) {
  return (
    <Popover position="bottom-end" width={310} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <IconButton icon={IconDownload} rightSection={<IconChevronDown size={14} aria-hidden />}>
          Export
        </IconButton>
      </Popover.Target>
      <Popover.Dropdown aria-label="Export" p={4}>
        <ul className="plain">
          {formsOf(query, sourceUrl).map(({ name, about, address, icon: Icon, isPage }) => (
            <li key={name}>
              <a
                href={address}
                className={`${classes.form} grid gap-3 quiet-link compact`}
                {...(isPage
                  ? { target: '_blank', rel: 'noopener noreferrer' }
                  : { download: '', onClick: (click) => void exportFile(click) })}
              >
                <Icon size={16} aria-hidden className={classes.icon} />
                <span>{name}</span>
                <span className={`${classes.about} muted tiny`}>{about}</span>
              </a>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}

interface Form {
  name: string;
  about: string;
  address: string;
  icon: TablerIcon;
  /** Whether a browser displays it. Other formats are downloaded. */
  isPage: boolean;
}

const WARC_FILTERS: ReadonlySet<string> = new Set(['source', 'since', 'until']);

function formsOf(
  { seen: _private, ...query }: ExportMenuProps['query'],
  sourceUrl: string | undefined,
): Form[] {
  const { source, since, until } = query;
  const isNarrower = Object.entries(query).some(([name, value]) => value && !WARC_FILTERS.has(name));
  const forms: Form[] = [
    {
      name: 'Atom feed',
      about: 'Follow these events in a feed reader',
      address: urlOf('readEventFeed', { query }),
      icon: IconRss,
      isPage: true,
    },
    {
      name: 'CSV',
      about: 'These events as a table',
      address: urlOf('listEvents', { query: { ...query, format: 'csv' } }),
      icon: IconTable,
      isPage: false,
    },
    {
      name: 'WARC',
      about: isNarrower
        ? 'Retrievals with their contents; only the source and date filters apply'
        : 'Retrievals with their contents, for other archives',
      address: urlOf('exportWarc', { query: { source, since, until, gzip: true } }),
      icon: IconFileZip,
      isPage: false,
    },
    {
      name: 'WACZ',
      about: 'The same with an index, pages and proofs, signed; ReplayWeb.page opens it',
      address: urlOf('exportWacz', { query: { source, since, until } }),
      icon: IconPackageExport,
      isPage: false,
    },
  ];
  if (sourceUrl !== undefined) {
    forms.push({
      name: 'TimeMap',
      about: 'All observations, for Memento clients',
      address: urlOf('readTimeMap', { params: { url: sourceUrl } }),
      icon: IconClockHour4,
      isPage: true,
    });
  }
  return forms;
}
