import type { Event, EventsQuery } from '../../../shared/event.ts';
import { type CsvCell, csvLines } from '../../csv.ts';
import { databaseFile } from '../../store/blobs/paths.ts';
import { eventsByIds } from '../../store/sqlite/collection/events.ts';
import { scanTimeline, type TimelinePosition } from '../../store/sqlite/collection/timelineScan.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../../store/store.ts';
import { eventFilterOf } from './events.ts';

/** So much of the timeline is gone over at a time, whether it matches or not: requests go on between two. */
const STRETCH = 1_000;

const COLUMNS: Readonly<Record<string, (event: Event) => CsvCell>> = {
  id: ({ id }) => id,
  source: ({ source }) => source.id,
  url: ({ source }) => source.url,
  name: ({ source }) => source.name,
  agency: ({ source }) => source.agency,
  tags: ({ source }) => source.tags.join('; '),
  event_type: ({ event_type }) => event_type,
  observer: ({ observer }) => observer,
  observed_at: ({ observed_at }) => observed_at,
  original_observed_at: (event) => event.original_observed_at,
  sha256: ({ sha256 }) => sha256,
  previous_sha256: (event) => event.previous_sha256,
  reverts_to: (event) => event.reverts_to,
  page_label: ({ page_label }) => page_label?.label ?? null,
  is_noise: ({ is_noise }) => is_noise,
  ledger_entry: (event) => event.ledger_entry,
};

/**
 * Every event that the filters name, newest first, as CSV with a header. One snapshot, on a connection of its own that
 * ends with the iteration; memory stays flat, because a piece is made when it is asked for.
 */
export async function* eventsCsv(
  { folder }: Pick<Store, 'folder'>,
  query: Omit<EventsQuery, 'limit' | 'offset'>,
): AsyncGenerator<string> {
  const database = await openSnapshot(databaseFile(folder), { isMapped: false });
  try {
    const filter = eventFilterOf(database, query);
    yield csvLines([Object.keys(COLUMNS)]);
    let place: TimelinePosition | null | undefined;
    while (place !== null) {
      const stretch = scanTimeline(database, filter, place, STRETCH);
      const rows = eventsByIds(database, stretch.ids).map((event) =>
        Object.values(COLUMNS).map((cellOf) => cellOf(event)),
      );
      if (rows.length > 0) yield csvLines(rows);
      place = stretch.end;
    }
  } finally {
    database.close();
  }
}
