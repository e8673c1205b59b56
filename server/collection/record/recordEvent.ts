import type { Event } from '../../../shared/event.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { insertEvent, type NewEvent, nextEventId } from '../../store/sqlite/collection/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';

/**
 * Records one event and its ledger entry, inside the caller's transaction; gives back its number.
 *
 * @param now when it is recorded, for the ledger.
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

/** The digest of what the ledger records of an event: what never changes about it, so not the source's name or tags. */
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
