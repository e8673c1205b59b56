import type { DriftItem, DriftState, PackDrift, StudyDrift } from '../../shared/archive/drift.ts';
import { type Pack, parseRelatedIdentifier } from '../../shared/archive/pack.ts';
import { isDigest } from '../../shared/values/digest.ts';
import { readPack } from '../archive/packs/readPack.ts';
import { requireStudy } from '../archive/studies.ts';
import { normalizeUrl, sourceIdOf } from '../collection/sources/sources.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { WorkCoalescer } from '../runtime/concurrency.ts';
import { filesWithDigest, laterFileVersions } from '../store/sqlite/archive/packs.ts';
import { relatingPacks } from '../store/sqlite/archive/studies.ts';
import { sourceByKey, sourceKeyOf } from '../store/sqlite/collection/sources.ts';
import { sourcesOfObject, type VersionEvent, versionEvents } from '../store/sqlite/collection/views.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';

/** The most packs of a study that are compared. */
const MAX_PACKS = 500;
/** One study at a time, because each pack reads the history of its sources. */
const forReaders = new WeakMap<object, WorkCoalescer<StudyDrift>>();

/**
 * Returns the packs of a study whose related works changed, vanished or returned since, newest pack first.
 *
 * @throws Problem `not_found`
 */
export async function studyDrift(store: Pick<Store, 'read'>, id: string): Promise<StudyDrift> {
  requireStudy(store.read, id);
  let shared = forReaders.get(store.read);
  if (!shared) forReaders.set(store.read, (shared = new WorkCoalescer(1)));
  return shared.run(id, async () => {
    const { rows, total } = relatingPacks(store.read, id, MAX_PACKS);
    const packs: StudyDrift['packs'] = [];
    for (const row of rows) {
      const items = packDrift(store, row.id).items.filter(({ state }) => state !== 'same');
      if (items.length > 0) packs.push({ ...row, items });
      await yieldToEventLoop();
    }
    return { study: id, relating: total, compared: rows.length, packs };
  });
}

/** The most sources, and the most files of other packs, that are listed for one related work. */
const MAX_PLACES = 20;

type Item = Pick<DriftItem, 'relation' | 'identifier'>;

/**
 * Returns what became of a pack's related works that this archive watches or holds, since the pack was received.
 *
 * @throws Problem `not_found`
 */
export function packDrift({ read }: Pick<Store, 'read'>, id: string): PackDrift {
  return onSnapshot(read, (): PackDrift => {
    const pack = readPack(read, id);
    const items = pack.related.flatMap((item) => {
      const digest = digestOf(item.identifier);
      return digest === undefined
        ? watchedSource(read, pack, item)
        : [...sourcesWith(read, pack, item, digest), ...filesOfOtherPacks(read, pack, item, digest)];
    });
    return { pack: pack.id, since: pack.evidence.received_at, items };
  });
}

/** Returns the digest of an identifier: a SHA-256, or the address of an object or blob, which ends in one. */
export function digestOf(identifier: string): string | undefined {
  const parsed = parseRelatedIdentifier(identifier);
  if (parsed.kind === 'digest') return parsed.digest;
  const [folder, name = ''] = URL.parse(identifier)?.pathname.split('/').slice(-2) ?? [];
  return (folder === 'archive' || folder === 'blobs') && isDigest(name) ? name : undefined;
}

/** Compares with the version that the node knew of a watched URL when it received the pack. */
function watchedSource(read: ReadDatabase, pack: Pack, item: Item): DriftItem[] {
  if (!URL.canParse(item.identifier)) return [];
  const key = sourceKeyOf(read, sourceIdOf(normalizeUrl(item.identifier)));
  const cited = key === undefined ? undefined : citedVersion(read, key, { at: pack.evidence.received_at });
  return cited ? sourceItem(read, item, cited) : [];
}

function sourcesWith(read: ReadDatabase, pack: Pack, item: Item, sha256: string): DriftItem[] {
  return sourcesOfObject(read, sha256, MAX_PLACES).flatMap((key) => {
    const cited = citedVersion(read, key, { at: pack.evidence.received_at, sha256 });
    return cited ? sourceItem(read, item, cited) : [];
  });
}

function sourceItem(read: ReadDatabase, { relation, identifier }: Item, cited: CitedVersion): DriftItem[] {
  const source = sourceByKey(read, cited.sourceKey);
  if (!source) return [];
  const { id, url, name } = source;
  return [{ relation, identifier, kind: 'source', source: { id, url, name }, ...driftOfSource(read, cited) }];
}

function filesOfOtherPacks(
  read: ReadDatabase,
  pack: Pack,
  { relation, identifier }: Item,
  sha256: string,
): DriftItem[] {
  const files = filesWithDigest(read, { sha256, exceptPack: pack.ledger_entry, limit: MAX_PLACES });
  return files.map((file): DriftItem => {
    const later = laterFileVersions(read, file.id, file.path);
    const { state, current, by } = driftOf(
      sha256,
      later.map((version) => ({ sha256: version.sha256, event: version })),
    );
    return {
      relation,
      identifier,
      kind: 'file',
      state,
      at: by?.received_at ?? null,
      cited_sha256: sha256,
      current_sha256: current,
      pack: file.id,
      newest: later.at(-1)?.id ?? file.id,
      path: file.path,
    };
  });
}

/** A version of a source that a pack relates to. */
interface CitedVersion {
  sourceKey: number;
  sha256: string;
  /** The event with which the node saw it. */
  event: number;
}

/**
 * Returns the version of a source that was current at a time, or a given one if there is `sha256`. If the node saw it
 * only later, this is its first sight. Undefined if the node never saw it.
 */
function citedVersion(
  read: ReadDatabase,
  sourceKey: number,
  { at, sha256 }: { at: string; sha256?: string },
): CitedVersion | undefined {
  let cited: CitedVersion | undefined;
  for (const event of versionEvents(read, sourceKey)) {
    if (event.observed_at > at && cited) break;
    if (event.sha256 === null || (sha256 !== undefined && event.sha256 !== sha256)) continue;
    cited = { sourceKey, sha256: event.sha256, event: event.id };
  }
  return cited;
}

type SourceDrift = Pick<
  Extract<DriftItem, { kind: 'source' }>,
  'state' | 'at' | 'cited_sha256' | 'current_sha256' | 'event' | 'only_noise'
>;

/** Compares a version of a source with the node's events after it. */
function driftOfSource(read: ReadDatabase, { sourceKey, sha256, event }: CitedVersion): SourceDrift {
  const later = [...eventsAfter(read, sourceKey, event)];
  const { state, current, by } = driftOf(sha256, foundBy(later, sha256));
  const changes = later.filter(({ event_type }) => event_type === 'changed');
  return {
    state,
    at: by?.observed_at ?? null,
    cited_sha256: sha256,
    current_sha256: current,
    event: by?.id ?? null,
    only_noise: state === 'changed' && changes.every(({ is_noise }) => is_noise === 1),
  };
}

function* eventsAfter(read: ReadDatabase, sourceKey: number, event: number): Generator<VersionEvent> {
  let isAfter = false;
  for (const row of versionEvents(read, sourceKey)) {
    if (isAfter) yield row;
    isAfter ||= row.id === event;
  }
}

/** Returns the version after each event. A source that recovers with the same bytes has its previous version. */
function* foundBy(events: readonly VersionEvent[], cited: string): Generator<Found<VersionEvent>> {
  let last = cited;
  for (const event of events) {
    const isGone = event.event_type === 'unavailable' || event.event_type === 'disappeared';
    if (!isGone) last = event.sha256 ?? last;
    yield { sha256: isGone ? null : last, event };
  }
}

/** A version that was found at some time; `sha256` is null while there is none. */
interface Found<Event> {
  sha256: string | null;
  event: Event;
}

interface Drift<Event> {
  state: DriftState;
  current: string | null;
  /** What brought it into this state; undefined if it is the same. */
  by: Event | undefined;
}

/** Compares a cited version with what was found after it, oldest first. */
function driftOf<Event>(cited: string, later: Iterable<Found<Event>>): Drift<Event> {
  let drift: Drift<Event> = { state: 'same', current: cited, by: undefined };
  for (const { sha256, event } of later) {
    const state = stateOf(cited, sha256, drift.state);
    drift = { state, current: sha256, by: state === drift.state ? drift.by : event };
  }
  return drift;
}

function stateOf(cited: string, found: string | null, before: DriftState): DriftState {
  if (found === null) return 'vanished';
  if (found !== cited) return 'changed';
  return before === 'same' ? 'same' : 'returned';
}
