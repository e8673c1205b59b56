import type { EntryType } from '../../../shared/ledger/ledger.ts';
import { appendEntry, nextSeq } from '../../ledger/appendEntry.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import {
  insertSourceRevision,
  type SourceRow,
  type SourceSettings,
  updateSource,
  updateSourceName,
} from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';

type RecordedSource = SourceSettings & Pick<SourceRow, 'id' | 'url' | 'added_at' | 'removed'>;

/**
 * Returns the part of a source that the ledger records and publishes. Header values are left out, because they may be
 * secrets, and so is `allow_private`, because it describes the owner's own network. That a source is watched with a login is
 * recorded, and not with which.
 */
export function recordedSource(source: RecordedSource) {
  const { headers, noise_rules, allow_private: _private, profile: _profile, ...rest } = settingsOf(source);
  const {
    every,
    time_zone,
    active_hours,
    follow,
    watch,
    found_in,
    capture,
    picture_events,
    keep_days,
    needs_login,
    ...settings
  } = rest;
  return {
    id: source.id,
    url: source.url,
    ...settings,
    header_names: Object.keys(headers).sort(),
    // What is not set is left out, so that records from before these settings existed keep their digest.
    ...(noise_rules.length > 0 && { noise_rules }),
    ...(every !== null && { every }),
    ...(time_zone !== null && { time_zone }),
    ...(active_hours && { active_hours }),
    ...(watch && { watch }),
    ...(follow && { follow }),
    ...(found_in !== null && { found_in }),
    ...(capture !== 'object' && { capture }),
    ...(picture_events !== null && { picture_events }),
    ...(keep_days !== null && { keep_days }),
    ...(needs_login && { login: true }),
    added_at: source.added_at,
    removed: source.removed,
  };
}

/** Updates a source and records the change. */
export function writeRevision(database: WriteDatabase, source: SourceRow, at: string): void {
  updateSource(database, { ...source, revision: nextSeq(database) });
  recordRevision(database, 'source.changed', source, at);
}

/** Names a source and records the change. */
export function renameSource(database: WriteDatabase, source: SourceRow, name: string, at: string): void {
  const renamed = { ...source, name };
  updateSourceName(database, { ...renamed, revision: nextSeq(database) });
  recordRevision(database, 'source.changed', renamed, at);
}

/** Appends the ledger entry of a revision and stores the revision, inside the caller's transaction. */
export function recordRevision(
  database: WriteDatabase,
  type: EntryType,
  source: RecordedSource & { key: number },
  at: string,
): void {
  const record = recordedSource(source);
  const entry = appendEntry(database, { type, subject: source.id, digest: fingerprintOf(record), at });
  insertSourceRevision(database, { ledger_entry: entry.seq, source_key: source.key, record });
}

/** Returns whether two states of a source have the same settings. */
export function hasSameSettings(left: SourceSettings, right: SourceSettings): boolean {
  return fingerprintOf(settingsOf(left)) === fingerprintOf(settingsOf(right));
}

function settingsOf(source: SourceSettings): SourceSettings {
  const { name, agency, tags, every_minutes, max_object_mb, ignore_robots, headers, noise_rules, watch } =
    source;
  const { paused, allow_private, every, time_zone, active_hours, follow, found_in } = source;
  const { capture, picture_events, keep_days, needs_login, profile } = source;
  return {
    name,
    agency,
    tags,
    every_minutes,
    max_object_mb,
    ignore_robots,
    headers,
    noise_rules,
    watch,
    paused,
    allow_private,
    every,
    time_zone,
    active_hours,
    follow,
    found_in,
    capture,
    picture_events,
    keep_days,
    needs_login,
    profile,
  };
}
