import type { Event, EventsQuery } from '../../../shared/collection/event.ts';
import { type CsvCell, csvLines } from '../../csv.ts';
import { databaseFile } from '../../store/blobs/paths.ts';
import { eventsByIds } from '../../store/sqlite/collection/timeline/events.ts';
import { scanTimeline, type TimelinePosition } from '../../store/sqlite/collection/timeline/timelineScan.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../../store/store.ts';
import { eventFilterOf } from './events.ts';

/** Events examined at a time, matching or not. The node handles other requests in between. */
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
  summary: ({ summary }) => summary ?? null,
  ledger_entry: (event) => event.ledger_entry,
};

/**
 * Yields every event that matches the filters, newest first, as CSV with a header. Reads one snapshot on its own
 * connection, which closes when the iteration ends. Memory use is constant, because pieces are made on demand.
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
