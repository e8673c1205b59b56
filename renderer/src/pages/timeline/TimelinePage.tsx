import { ActionIcon, Button } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowLeft, IconX } from '@tabler/icons-react';
import { useCallback, useMemo, useRef } from 'react';
import { Link, useLocation, useNavigate, useParams } from 'react-router';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { useIsOwner } from '../../state/session.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { DensityStrip } from './density/DensityStrip.tsx';
import { EventFilterBar } from './EventFilterBar.tsx';
import { ExportMenu } from './ExportMenu.tsx';
import { EventDetails } from './event/EventDetails.tsx';
import { EVENT_FILTERS, type EventFilters, queryOf } from './eventFilters.ts';
import { ShortcutHelp } from './keys/ShortcutHelp.tsx';
import { EventList } from './list/EventList.tsx';
import type { EventListHandle } from './list/useSelection.ts';
import classes from './TimelinePage.module.css';

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
        <div className={classes.panes} data-open={openId !== undefined || undefined}>
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
      className={classes.pane}
      aria-label={`Event ${id}`}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <header className={classes.paneHead}>
        <h2>Event {id}</h2>
        <ActionIcon variant="subtle" color="gray" aria-label="Close event" onClick={close}>
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
    <Button
      component={Link}
      to={`/timeline${search}`}
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      Timeline
    </Button>
  );
}

function NoSuchEvent({ id }: { id: string }) {
  return (
    <Page title="Event not found" actions={<BackButton search="" />}>
      <ErrorNote error={new Error(`“${id}” is not an event number. Choose an event on the timeline.`)} />
    </Page>
  );
}
