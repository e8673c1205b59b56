import { hash } from 'node:crypto';
import { recordEvent } from '../../../server/collection/record/recordRetrieval.ts';
import { watchSource } from '../../../server/collection/sources/sources.ts';
import { createFolder, databaseFile } from '../../../server/store/files.ts';
import { insertCapture } from '../../../server/store/sqlite/collection/captures.ts';
import { insertRetrieval } from '../../../server/store/sqlite/collection/retrievals.ts';
import { updateCheckState } from '../../../server/store/sqlite/collection/sources.ts';
import { putEventNoise, scopeDigest } from '../../../server/store/sqlite/collection/timeline/eventNoise.ts';
import { putEventSummary } from '../../../server/store/sqlite/collection/timeline/events.ts';
import { migrate } from '../../../server/store/sqlite/engine/migrate.ts';
import { openForWriting, statement, type WriteDatabase } from '../../../server/store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../../server/store/sqlite/node/blobs.ts';
import { type EventType } from '../../../shared/collection/event.ts';
import { SELF } from '../../../shared/collection/observers.ts';
import { newSourceSchema } from '../../../shared/collection/source.ts';
import { scaled } from '../bench.ts';

export const EVENTS = scaled(1_000_000, 50_000);
export const SOURCES = scaled(20_000, 1_000);
/** Two observers of imported captures: one has every 20th event, the other every 10,000th. */
export const ARCHIVE = 'Web Archive';
export const RARE_ARCHIVE = 'Village Archive';
const START = Date.parse('2024-01-01T00:00:00.000Z');
/** The time between two events. */
const STEP_MS = 60_000;
/** The time between a capture and its import. */
const OLDER_MS = 400 * 86_400_000;
const OBJECT_BYTES = 6_000;

/** Indexes with random insert positions. Building them once at the end takes seconds. */
const MADE_AT_THE_END = ['retrievals', 'events'];
/** Indexes that the product reads while it writes. */
const NEEDED_MEANWHILE = 'events_by_time';

/** Returns the time of an event by its number, from 0. */
export function instantOf(number: number): string {
  return new Date(START + number * STEP_MS).toISOString();
}

export function urlOf(source: number): string {
  return `https://www.agency${source % 50}.example/reports/${source}/annual.html`;
}

/** Returns the digest of the object of an event. */
export function digestOf(number: number): string {
  return hash('sha256', `the object of ${number}`, 'hex');
}

export interface TimelineSize {
  events?: number;
  sources?: number;
}

/**
 * Writes an archive of events, a million of 20,000 sources if not said otherwise, into a new data folder: sources,
 * rows of objects, retrievals, events and their ledger entries, with the product's own functions and triggers, in
 * one transaction. There are no blobs.
 */
export async function fillTimeline(
  folder: string,
  { events = EVENTS, sources = SOURCES }: TimelineSize = {},
): Promise<void> {
  await createFolder(folder);
  const database = openForWriting(databaseFile(folder));
  migrate(database);
  for (const setting of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -2000000'])
    database.pragma(setting);
  database.transaction(() => {
    const indexes = takeIndexesAway(database);
    const standings = Array.from({ length: sources }, (_, number) => addSource(database, number));
    for (let number = 0; number < events; number += 1) addEvent(database, standings, number);
    for (const standing of standings) writeStanding(database, standing);
    for (const sql of indexes) database.exec(sql);
  })();
  database.close();
}

/** Drops the indexes; returns the SQL that creates them again. */
function takeIndexesAway(database: WriteDatabase): string[] {
  const indexes = statement<{ name: string; sql: string }>(
    database,
    `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND name <> ?
     AND tbl_name IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
  ).all(NEEDED_MEANWHILE, JSON.stringify(MADE_AT_THE_END));
  for (const { name } of indexes) database.exec(`DROP INDEX ${name}`);
  return indexes.map(({ sql }) => sql);
}

/** The state of a source. */
interface Standing {
  key: number;
  id: string;
  url: string;
  isUp: boolean;
  /** The newest digest by observer. */
  versions: Map<string, string>;
  lastType: EventType;
  lastAt: string;
}

function addSource(database: WriteDatabase, number: number): Standing {
  const words = [
    number % 2 === 0 ? 'even' : 'odd',
    number % 100 === 0 ? 'hundredth' : '',
    number === 4_321 ? 'zircon' : '',
  ];
  const source = newSourceSchema.parse({
    url: urlOf(number),
    name: `Report ${number} ${words.join(' ')}`,
    agency: `Agency ${number % 50}`,
    tags: [`tag${number % 200}`, 'all'],
    noise_rules: hasRules(number) ? [RULE] : [],
  });
  const { key, id, url } = watchSource(database, { instant: () => instantOf(0) }, source, instantOf(EVENTS));
  return { key, id, url, isUp: true, versions: new Map(), lastType: 'first_seen', lastAt: instantOf(0) };
}

/** Every tenth source has a rule, which calls every second of its changes noise. */
const RULE = { kind: 'selector', value: '.clock', note: '' } as const;
const RULES_DIGEST = scopeDigest({ watch: null, rules: [RULE] }) ?? '';

function hasRules(source: number): boolean {
  return source % 10 === 0;
}

function addDerived(database: WriteDatabase, source: number, number: number): void {
  const event = number + 1;
  const is_noise = hasRules(source) && number % 2 === 0;
  const rules_digest = hasRules(source) ? RULES_DIGEST : null;
  const summary = is_noise ? 'Noise by the rule “.clock”' : `${number} → ${number + 5} euros, +14 −7 words`;
  putEventSummary(database, { event, summary, rules_digest }, []);
  if (hasRules(source))
    putEventNoise(database, [{ event, is_noise, outside: false, rules_digest: RULES_DIGEST }]);
}

function addEvent(database: WriteDatabase, standings: readonly Standing[], number: number): void {
  const isFirst = number < standings.length;
  const index = isFirst ? number : (Math.imul(number, 48_271) >>> 0) % standings.length;
  const source = standings[index];
  if (!source) throw new Error('Every event has a source.');
  const observer = isFirst ? SELF : observerOf(number);
  const event_type = isFirst
    ? 'first_seen'
    : observer === SELF
      ? ownTypeOf(source, number)
      : captureTypeOf(source, observer);
  const isLoss = event_type === 'unavailable' || event_type === 'disappeared';
  const at = instantOf(number);
  const previous = source.versions.get(observer) ?? null;
  const sha256 = isLoss ? null : event_type === 'recovered' ? previous : digestOf(number);
  if (sha256 !== null) {
    createBlobRowIfAbsent(database, { sha256, bytes: OBJECT_BYTES, stored_at: at });
    source.versions.set(observer, sha256);
  }
  const common = {
    source_key: source.key,
    observer,
    observed_at: at,
    original_observed_at:
      observer === SELF ? null : new Date(START + number * STEP_MS - OLDER_MS).toISOString(),
    sha256,
    page_label: null,
  };
  const retrieval = insertRetrieval(database, {
    ...common,
    round: null,
    url: source.url,
    final_url: source.url,
    redirects: [],
    status: isLoss ? 410 : 200,
    error: isLoss ? 'http_error' : null,
    content_type: 'text/html',
    headers: [['Content-Type', 'text/html']],
    bytes: isLoss ? null : OBJECT_BYTES,
    duration_ms: 100,
  });
  if (observer !== SELF)
    insertCapture(database, { retrieval, record_id: `urn:bench:${number}`, payload_digest: null });
  recordEvent(database, at, source, {
    ...common,
    retrieval,
    event_type,
    previous_sha256: isLoss || event_type === 'changed' ? previous : null,
    reverts_to: null,
  });
  if (event_type === 'changed') addDerived(database, index, number);
  if (observer !== SELF) return;
  source.isUp = !isLoss;
  source.lastType = event_type;
  source.lastAt = at;
}

function observerOf(number: number): string {
  if (number % 10_000 === 777) return RARE_ARCHIVE;
  return number % 20 === 7 ? ARCHIVE : SELF;
}

function ownTypeOf({ isUp }: Standing, number: number): EventType {
  if (!isUp) return 'recovered';
  if (number % 10_007 === 0) return 'disappeared';
  return number % 211 === 0 ? 'unavailable' : 'changed';
}

function captureTypeOf({ versions }: Standing, observer: string): EventType {
  return versions.has(observer) ? 'changed' : 'first_seen';
}

function writeStanding(database: WriteDatabase, { key, isUp, versions, lastType, lastAt }: Standing): void {
  updateCheckState(database, key, {
    state: isUp ? 'available' : 'unavailable',
    failures: isUp ? 0 : 1,
    missing_since: isUp ? null : lastAt,
    consecutive: isUp ? 0 : 1,
    failing_since: isUp ? null : lastAt,
    last_checked_at: lastAt,
    last_status: isUp ? 200 : 410,
    last_error: isUp ? null : 'http_error',
    last_sha256: versions.get(SELF) ?? null,
    last_event_type: lastType,
    refused_bytes: null,
  });
}
