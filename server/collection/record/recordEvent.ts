import type { Event } from '../../../shared/collection/event.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { insertEvent, type NewEvent, nextEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';

/**
 * Records one event and its ledger entry inside the caller's transaction. Returns the event's id.
 *
 * @param now the current time, for the ledger entry.
 */
export function recordEvent(
  database: WriteDatabase,
  now: string,
  source: { id: string; url: string },
  recorded: Omit<NewEvent, 'id' | 'ledger_entry'>,
): number {
  const event = { ...recorded, id: nextEventId(database) };
  const entry = appendEntry(database, {
    type: 'event.recorded',
    subject: String(event.id),
    digest: eventDigest({ ...event, source: source.id, url: source.url }),
    at: now,
  });
  insertEvent(database, { ...event, ledger_entry: entry.seq });
  return event.id;
}

/** Returns the digest of the part of an event that never changes. The source's name and tags are not part of it. */
export const eventDigest: (
  event: Pick<
    Event,
    | 'id'
    | 'event_type'
    | 'observer'
    | 'observed_at'
    | 'original_observed_at'
    | 'sha256'
    | 'previous_sha256'
    | 'reverts_to'
    | 'page_label'
  > & { source: string; url: string; retrieval: number },
) => string = fingerprintOver([
  'id',
  'source',
  'url',
  'retrieval',
  'event_type',
  'observer',
  'observed_at',
  'original_observed_at',
  'sha256',
  'previous_sha256',
  'reverts_to',
  'page_label',
]);
