import type { EventType } from '../../../shared/collection/event.ts';
import { SELF } from '../../../shared/collection/event.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { updateNextCheck } from '../../store/sqlite/collection/dueTimes.ts';
import { insertRetrieval, type NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import {
  clearUnnamed,
  type SourceRow,
  sourceByKey,
  updateCheckState,
} from '../../store/sqlite/collection/sources.ts';
import { firstEventWith } from '../../store/sqlite/collection/timeline/events.ts';
import { replaceValidators, type Validators } from '../../store/sqlite/collection/validators.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writeOptions.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { renameSource } from '../sources/sourceRevisions.ts';
import { recordEvent } from './recordEvent.ts';
import { type Outcome, transition } from './transitions.ts';

export type CountSettings = Pick<Settings, 'unavailable_after_failures' | 'gone_after_minutes'>;

/** An attempt to record, and its effects. */
export interface RecordedAttempt {
  retrieval: NewRetrieval;
  /** The outcome for the source; null if its state stays, because a retry follows or there was no space. */
  outcome: Outcome | null;
  /** The validators for the next request. If undefined, the previous ones are deleted. Used only if there is an object. */
  validators?: Validators | undefined;
  /** The number of bytes that could not be stored for lack of space. */
  refusedBytes?: number | null;
  /** Returns when the source is due again, by its current settings; absent if a retry follows. */
  dueAt?: (source: SourceRow) => string;
  /** The title of the page, which names a source that a list added without a name. */
  title?: string | null;
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
  const { retrieval } = attempt;
  return store.write(
    (database) => {
      if (retrieval.sha256 !== null && retrieval.bytes !== null) {
        const { sha256, bytes, observed_at } = retrieval;
        createBlobRowIfAbsent(database, { sha256, bytes, stored_at: observed_at });
      }
      const id = insertRetrieval(database, retrieval);
      if (retrieval.sha256 !== null && retrieval.error === null)
        replaceValidators(database, retrieval.source_key, attempt.validators);
      const source = requireSource(database, retrieval.source_key);
      const events = applyOutcome(database, store.instant(), source, { id, ...retrieval }, attempt, settings);
      if (attempt.title && source.state === 'new' && attempt.outcome?.kind === 'object')
        nameAfterPage(database, source, attempt.title, store.instant());
      if (attempt.dueAt) updateNextCheck(database, source.key, attempt.dueAt(source));
      const isNewVersion =
        attempt.outcome?.kind === 'object' && attempt.outcome.sha256 !== source.last_sha256;
      return { retrieval: id, events, isNewVersion };
    },
    // No caller waits for a single attempt, so several share one commit.
    { batched: true, reservation: attempt.reservation },
  );
}

const MAX_NAME = 200;

/** Names a source that a list added without a name. It happens once, so a name that is removed later stays removed. */
function nameAfterPage(database: WriteDatabase, source: SourceRow, title: string, at: string): void {
  if (!clearUnnamed(database, source.key) || source.name !== '' || source.removed) return;
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
