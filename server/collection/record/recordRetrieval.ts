import { type Event, type EventType, type PageLabel } from '../../../shared/collection/event.ts';
import { SELF } from '../../../shared/collection/observers.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { updateNextCheck } from '../../store/sqlite/collection/dueTimes.ts';
import {
  insertRetrieval,
  type NewRetrieval,
  replaceValidators,
  type Validators,
} from '../../store/sqlite/collection/retrievals.ts';
import {
  clearUnnamed,
  type SourceRow,
  type Standing,
  sourceByKey,
  updateCheckState,
} from '../../store/sqlite/collection/sources.ts';
import {
  firstEventWith,
  insertEvent,
  type NewEvent,
  nextEventId,
} from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writer.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { isMarked } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { renameSource } from '../sources/sourceRevisions.ts';

type CountSettings = Pick<Settings, 'unavailable_after_failures' | 'gone_after_minutes'>;

/** An attempt to record, and its effects. */
interface RecordedAttempt {
  retrieval: NewRetrieval;
  /** The outcome for the source; null if its state stays, because a retry follows or there was no space. */
  outcome: Outcome | null;
  /**
   * Returns the validators for the next request, by the current settings of the source. If there are none, the previous ones
   * are deleted. Used only if there is an object.
   */
  validators?: (database: WriteDatabase, source: SourceRow) => Validators | undefined;
  /** The number of bytes that could not be stored for lack of space. */
  refusedBytes?: number | null;
  /** Returns when the source is due again, by its current settings; absent if a retry follows. */
  dueAt?: (source: SourceRow) => string;
  /** The title of the page, which names a source that a list added without a name. */
  title?: string | null;
  /** Records what belongs to the retrieval, in the same transaction, after it was inserted. */
  andAlso?: ((database: WriteDatabase, retrieval: number) => void) | undefined;
  /** The space that is held for the object until its row counts the bytes. */
  reservation?: Reservation | undefined;
}

export interface RecordResult {
  /** The id of the retrieval. */
  retrieval: number;
  /** The ids of the recorded events, in order. */
  events: number[];
  /** Whether the object is a first or changed version. */
  isNewVersion: boolean;
}

/**
 * Records one attempt in one transaction: the object's row, the retrieval, events with their ledger entries, and the new
 * state of the source. The object's bytes must be durable already.
 */
export function recordRetrieval(
  store: Pick<Store, 'write' | 'instant'>,
  attempt: RecordedAttempt,
  settings: CountSettings,
): Promise<RecordResult> {
  return store.write(
    (database) => {
      const retrieval = { ...attempt.retrieval, page_label: recordedLabel(database, attempt.retrieval) };
      if (retrieval.sha256 !== null && retrieval.bytes !== null) {
        const { sha256, bytes, observed_at } = retrieval;
        createBlobRowIfAbsent(database, { sha256, bytes, stored_at: observed_at });
      }
      const id = insertRetrieval(database, retrieval);
      attempt.andAlso?.(database, id);
      const source = requireSource(database, retrieval.source_key);
      if (retrieval.sha256 !== null && retrieval.error === null)
        replaceValidators(database, source.key, attempt.validators?.(database, source));
      const events = applyOutcome(database, store.instant(), source, { id, ...retrieval }, attempt, settings);
      if (attempt.title && source.state === 'new' && attempt.outcome?.kind === 'object')
        nameAfterPage(database, source, { sha256: retrieval.sha256, title: attempt.title }, store.instant());
      if (attempt.dueAt) updateNextCheck(database, { key: source.key, next_check_at: attempt.dueAt(source) });
      const isNewVersion =
        attempt.outcome?.kind === 'object' && attempt.outcome.sha256 !== source.last_sha256;
      return { retrieval: id, events, isNewVersion };
    },
    // No caller waits for a single attempt, so several share one commit.
    { batched: true, reservation: attempt.reservation },
  );
}

export const WITHHELD_REASON = 'It was judged by its content, which is withheld';

/** Returns the label of a page as it is recorded. The reason quotes the page, and records are public. */
export function recordedLabel(
  database: WriteDatabase,
  { sha256, page_label }: { sha256: string | null; page_label: PageLabel | null },
): PageLabel | null {
  return page_label && isHidden(database, sha256) ? { ...page_label, reason: WITHHELD_REASON } : page_label;
}

/** Whether visitors may not read an object now, so that no record may quote it. */
export function isHidden(database: WriteDatabase, sha256: string | null): boolean {
  return sha256 !== null && isMarked(database, { sha256 });
}

const MAX_NAME = 200;

/**
 * Names a source that a list added without a name. It happens once, so a name that is removed later stays removed. The name
 * is public, so a page that is withheld gives none.
 */
function nameAfterPage(
  database: WriteDatabase,
  source: SourceRow,
  { sha256, title }: { sha256: string | null; title: string },
  at: string,
): void {
  if (!clearUnnamed(database, source.key) || source.name !== '' || source.removed) return;
  if (isHidden(database, sha256)) return;
  // A title may have been cut inside a character.
  const whole = title
    .replace(/[\uD800-\uDBFF]$/, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
    // Format characters could reorder or hide the text around the name.
    .replace(/\p{Cf}/gu, '')
    .trim();
  const name = Array.from(whole).slice(0, MAX_NAME).join('');
  if (name !== '') renameSource(database, source, name, at);
}

/** Counts a failure that was recorded earlier and deferred until it was known that the node is online. */
export function countDeferredFailure(
  store: Pick<Store, 'write' | 'instant'>,
  retrieval: SavedRetrieval,
  settings: CountSettings,
): Promise<number[]> {
  return store.write((database) =>
    applyOutcome(
      database,
      store.instant(),
      requireSource(database, retrieval.source_key),
      retrieval,
      { outcome: { kind: 'failure' } },
      settings,
    ),
  );
}

export type SavedRetrieval = NewRetrieval & { id: number };

function requireSource(database: WriteDatabase, key: number): SourceRow {
  const source = sourceByKey(database, key);
  if (!source) throw new Error(`There is no source ${key}.`);
  return source;
}

function applyOutcome(
  database: WriteDatabase,
  now: string,
  source: SourceRow,
  retrieval: SavedRetrieval,
  { outcome, refusedBytes }: Pick<RecordedAttempt, 'outcome' | 'refusedBytes'>,
  settings: CountSettings,
): number[] {
  const lastCheck = {
    last_checked_at: retrieval.observed_at,
    last_status: retrieval.status,
    last_error: retrieval.error,
    refused_bytes: refusedBytes ?? null,
  };
  if (outcome === null) {
    if (refusedBytes !== undefined) updateCheckState(database, source.key, { ...source, ...lastCheck });
    return [];
  }
  const { standing, events } = transition(
    source,
    outcome,
    source.last_sha256,
    settings,
    retrieval.observed_at,
  );
  const recorded = events.map((type) => recordOwnEvent(database, now, source, retrieval, type));
  updateCheckState(database, source.key, {
    ...standing,
    ...lastCheck,
    last_sha256: outcome.kind === 'object' ? outcome.sha256 : source.last_sha256,
    last_event_type: events.at(-1) ?? source.last_event_type,
  });
  return recorded;
}

/**
 * Records one event that this node observed. `sha256` is the current object, or null if there is none;
 * `previous_sha256` is the version before it.
 */
function recordOwnEvent(
  database: WriteDatabase,
  now: string,
  source: SourceRow,
  retrieval: SavedRetrieval,
  type: EventType,
): number {
  const isLoss = type === 'unavailable' || type === 'disappeared';
  return recordEvent(database, now, source, {
    source_key: source.key,
    retrieval: retrieval.id,
    event_type: type,
    observer: SELF,
    observed_at: retrieval.observed_at,
    original_observed_at: null,
    sha256: isLoss ? null : retrieval.sha256,
    previous_sha256: isLoss || type === 'changed' ? source.last_sha256 : null,
    // Only a changed version can be a reversion.
    reverts_to:
      type === 'changed' && retrieval.sha256 !== null ? revertsTo(database, source, retrieval.sha256) : null,
    page_label: isLoss ? null : retrieval.page_label,
  });
}

function revertsTo(database: WriteDatabase, source: SourceRow, sha256: string): number | null {
  return firstEventWith(database, { source_key: source.key, observer: SELF, sha256 }) ?? null;
}

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

const EVENT_MEMBERS = [
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
] as const;

/** The part of an event that never changes. The source's name and tags are not part of it. */
type RecordedEvent = Pick<Event, Exclude<(typeof EVENT_MEMBERS)[number], 'source' | 'url' | 'retrieval'>> & {
  source: string;
  url: string;
  retrieval: number;
  page?: string | null | undefined;
};

const digestWithoutPage = fingerprintOver(EVENT_MEMBERS);
const digestWithPage = fingerprintOver([...EVENT_MEMBERS, 'page']);

/** Returns the digest of an event. One without a page has no such member, as all events of earlier versions. */
export function eventDigest({ page, ...event }: RecordedEvent): string {
  return page ? digestWithPage({ ...event, page }) : digestWithoutPage(event);
}

/** The outcome of one check of a source after its retries. */
export type Outcome = { kind: 'object'; sha256: string } | { kind: 'missing' } | { kind: 'failure' };

interface Transition {
  standing: Standing;
  events: EventType[];
}

/**
 * Applies the state table of the contract. Where the contract is silent: a 404 ends a run of other failures and the
 * reverse, because "in a row" applies to each kind; only `consecutive` and `failing_since` span both. An `unavailable`
 * source becomes `gone` like an available one. A `gone` source stays `gone` until it returns an object.
 *
 * @param lastSha256 the digest of the source's newest version, or null if it has none.
 * @param at the time of the check.
 */
export function transition(
  standing: Standing,
  outcome: Outcome,
  lastSha256: string | null,
  settings: Pick<Settings, 'unavailable_after_failures' | 'gone_after_minutes'>,
  at: string,
): Transition {
  if (outcome.kind === 'object')
    return { standing: AVAILABLE, events: eventsOfSuccess(standing, outcome, lastSha256) };
  const failing = {
    consecutive: standing.consecutive + 1,
    failing_since: standing.failing_since ?? at,
  };
  if (outcome.kind === 'missing') {
    const firstOfRun = standing.missing_since;
    const next = { ...standing, ...failing, failures: 0, missing_since: firstOfRun ?? at };
    const mayVanish = standing.state === 'available' || standing.state === 'unavailable';
    if (!mayVanish || firstOfRun === null || minutesBetween(firstOfRun, at) < settings.gone_after_minutes)
      return { standing: next, events: [] };
    return { standing: { ...next, state: 'gone' }, events: ['disappeared'] };
  }
  const next = { ...standing, ...failing, failures: standing.failures + 1, missing_since: null };
  if (standing.state !== 'available' || next.failures < settings.unavailable_after_failures)
    return { standing: next, events: [] };
  return { standing: { ...next, state: 'unavailable' }, events: ['unavailable'] };
}

const AVAILABLE: Standing = {
  state: 'available',
  failures: 0,
  missing_since: null,
  consecutive: 0,
  failing_since: null,
};

function eventsOfSuccess(
  { state }: Standing,
  { sha256 }: { sha256: string },
  lastSha256: string | null,
): EventType[] {
  if (state === 'new') return ['first_seen'];
  const events: EventType[] = state === 'available' ? [] : ['recovered'];
  if (sha256 !== lastSha256) events.push('changed');
  return events;
}

function minutesBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 60_000;
}
