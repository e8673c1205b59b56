import type { DriftItem, DriftState } from '../../../shared/archive/drift.ts';
import { type Event } from '../../../shared/collection/event.ts';
import { BROWSER, SELF } from '../../../shared/collection/observers.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { normalizeUrl, sourceIdOf } from '../../collection/sources/sources.ts';
import { digestOf, packDrift } from '../../drift/drift.ts';
import { passagesBefore } from '../../findings/passageAnchors.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { filesOfPack, packById, packsAfter } from '../../store/sqlite/archive/packs.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import { eventsAfter, lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { allRules, hasNotice, type Notice, startPositionOf } from '../../store/sqlite/node/alerts.ts';
import { readSetting, writeSetting } from '../../store/sqlite/node/owner.ts';
import type { Store } from '../../store/store.ts';
import { OWNER, unreadable } from '../../withholding/withholding.ts';
import type { ChangeReader } from '../changeReader.ts';
import { type Match, queueMatches } from '../queue.ts';
import {
  type CompiledRule,
  compileRule,
  matchConditions,
  matchDamages,
  matchExpiredProfiles,
  matchFailedDrills,
  matchFailures,
  matchLostParts,
  matchRewrites,
  needConditions,
} from './matchStates.ts';

interface MatcherServices {
  store: Store;
  settings: () => Settings;
  reader: ChangeReader;
  /** Writes without counting as activity. */
  write: Store['write'];
}

/** The number of events that are read and matched in one step. */
const PAGE = 500;
/** The setting with the last event that was compared with the rules. */
const CURSOR = 'alerted_event';

/**
 * Compares events with the rules. Matches are stored in one transaction with the position in the timeline, so that a
 * crash neither loses an alert nor sends it twice.
 */
export class Matcher {
  readonly #services: MatcherServices;
  readonly #packs: RelatingPacks;

  constructor(services: MatcherServices) {
    this.#services = services;
    this.#packs = new RelatingPacks(services.store.read);
  }

  /** Compares new events with the rules. Returns whether states must be checked again later. */
  async poll(signal: AbortSignal): Promise<{ needsPolling: boolean }> {
    const { store, settings, write } = this.#services;
    const rules = allRules(store.read)
      .filter(({ paused }) => !paused)
      .map(compileRule);
    if (rules.length === 0) return { needsPolling: false };
    await this.#matchEvents(rules, signal);
    const services = { store, settings };
    const found = [
      ...matchFailures(services, rules),
      ...matchDamages(services, rules),
      ...matchRewrites(services, rules),
      ...matchExpiredProfiles(services, rules),
      ...matchFailedDrills(services, rules),
      ...matchLostParts(services, rules),
      ...(await matchConditions(services, rules, { write, instant: store.instant })),
      ...(await matchDrift(store, rules, this.#packs, [])),
    ];
    if (found.length > 0) await this.#keep(found);
    return { needsPolling: needConditions(rules) };
  }

  async #matchEvents(rules: readonly CompiledRule[], signal: AbortSignal): Promise<void> {
    const { store, reader } = this.#services;
    const needsEvents = rules.filter(
      ({ rule, isAboutEvents }) => isAboutEvents || rule.when.drift || rule.when.passage_changed,
    );
    if (needsEvents.length === 0) return;
    const starts = needsEvents.flatMap(({ rule, isAboutEvents }) => [
      ...(isAboutEvents ? [startPositionOf(rule, 'events')] : []),
      ...(rule.when.drift ? [startPositionOf(rule, 'drift')] : []),
      ...(rule.when.passage_changed ? [startPositionOf(rule, 'passage_changed')] : []),
    ]);
    const first = Math.min(...starts.map(({ after_event }) => after_event));
    let after = Math.max(Number(readSetting(store.read, CURSOR) ?? 0), first);
    const last = lastEventId(store.read);
    while (after < last) {
      const page = eventsAfter(store.read, after, PAGE);
      const found: Match[] = [];
      for (const event of page) {
        signal.throwIfAborted();
        found.push(
          ...(await matchEvent(needsEvents, await this.#placed(needsEvents, event, signal), reader, signal)),
          ...(await matchPassages(store, needsEvents, event, { reader, signal })),
        );
      }
      found.push(...(await matchDrift(store, rules, this.#packs, page)));
      after = page.at(-1)?.id ?? last;
      await this.#keep(found, after);
    }
  }

  /** The mark of a change outside the watched part may still be missing, so the two versions are compared here. */
  async #placed(rules: readonly CompiledRule[], event: Event, signal: AbortSignal): Promise<Event> {
    const { store, reader } = this.#services;
    const { event_type, is_noise, source } = event;
    if (event_type !== 'changed' || is_noise !== null) return event;
    if (!rules.some(({ isAboutEvents, matchesSource }) => isAboutEvents && matchesSource(source)))
      return event;
    if (!sourceById(store.read, source.id)?.watch) return event;
    const comparison = await reader.comparisonOf(event.id, signal);
    return comparison?.noise.outside ? { ...event, outside: true } : event;
  }

  #keep(found: readonly Match[], cursor?: number): Promise<void> {
    const { store, write } = this.#services;
    return write((database) => {
      queueMatches(database, found, store);
      if (cursor !== undefined) writeSetting(database, CURSOR, cursor);
    });
  }
}

/**
 * Returns which rules match an event. Only what the node saw itself counts: what others captured may be years old. The
 * versions are compared only if a rule that matches otherwise asks for words, for what is not noise or for conditions.
 *
 * @throws Problem `shutting_down`; the signal's reason
 */
async function matchEvent(
  rules: readonly CompiledRule[],
  event: Event,
  reader: ChangeReader,
  signal: AbortSignal,
): Promise<Match[]> {
  if (event.observer !== SELF && event.observer !== BROWSER) return [];
  const matches: Match[] = [];
  for (const compiled of rules) {
    if (!compiled.isAboutEvents || !compiled.mayMatch(event)) continue;
    if (compiled.notNoise && !event.outside && (await isNoise(event, reader, signal))) continue;
    if (compiled.words && !(await reader.hasWords(event, compiled.words, signal))) continue;
    if (compiled.conditions && !(await reader.meets(event, compiled.conditions, signal))) continue;
    const match = { rule: compiled.rule.id, ...matchOf(event) };
    matches.push(event.event_type === 'changed' ? { ...match, change: event.id } : match);
  }
  return matches;
}

/** The mark of the timeline may still be missing, so the rules of the source are applied here. */
async function isNoise(event: Event, reader: ChangeReader, signal: AbortSignal): Promise<boolean> {
  if (event.event_type !== 'changed') return false;
  if (event.is_noise !== null) return event.is_noise;
  const comparison = await reader.comparisonOf(event.id, signal);
  return comparison?.noise.is_noise === true;
}

export function matchOf({ id, observed_at, source }: Event): Pick<Match, 'subject' | 'notice'> {
  const notice: Notice = {
    kind: 'event',
    at: observed_at,
    event: id,
    title: null,
    text: null,
    path: `/timeline/${id}`,
    source: { id: source.id, url: source.url, name: source.name },
  };
  return { subject: `event:${id}`, notice };
}

const WORDS: Record<Exclude<DriftState, 'same'>, string> = {
  changed: 'has changed',
  vanished: 'has disappeared',
  returned: 'is back to its earlier state',
};

/** Returns the matches for packs that relate to the sources of these events, or to packs that were replaced. */
async function matchDrift(
  store: Pick<Store, 'read'>,
  rules: readonly CompiledRule[],
  packs: RelatingPacks,
  events: readonly Event[],
): Promise<Match[]> {
  const asking = rules.filter(({ rule }) => rule.when.drift);
  if (asking.length === 0) return [];
  const replaced = await packs.readNew(
    Math.min(...asking.map(({ rule }) => startPositionOf(rule, 'drift').after_entry)),
  );
  const keys = events.flatMap(({ source, sha256, previous_sha256 }) => [source.id, sha256, previous_sha256]);
  const affected = new Set([...replaced, ...packs.relatingTo(keys)]);
  const matches: Match[] = [];
  for (const pack of affected) {
    for (const item of packDrift(store, pack).items) {
      const found = driftOf(pack, item);
      if (!found) continue;
      for (const compiled of asking)
        if (isAbout(store, compiled, found, item)) matches.push({ rule: compiled.rule.id, ...found });
    }
    await yieldToEventLoop();
  }
  return matches;
}

type Found = Pick<Match, 'subject' | 'notice'>;

function isAbout(
  { read }: Pick<Store, 'read'>,
  { rule, notNoise, matchesSource }: CompiledRule,
  { subject, notice }: Found,
  item: DriftItem,
): boolean {
  if (notice.at < startPositionOf(rule, 'drift').active_since || hasNotice(read, rule.id, subject))
    return false;
  const { tags, agencies, sources } = rule.when;
  if (item.kind === 'file') return (tags ?? agencies ?? sources) === undefined;
  const source = sourceById(read, item.source.id);
  return source !== undefined && matchesSource(source) && !(notNoise && item.only_noise);
}

function driftOf(pack: string, item: DriftItem): Found | undefined {
  const { state, at } = item;
  if (state === 'same' || at === null) return undefined;
  const place = item.kind === 'source' ? item.source.id : `${item.pack} ${item.path}`;
  const name = item.kind === 'source' ? item.source.name || item.source.url : item.path;
  const notice: Notice = {
    kind: 'drift',
    at,
    // The change itself is described too, if it is one.
    event: item.kind === 'source' ? item.event : null,
    title: `${name}, a related work of a pack, ${WORDS[state]}`,
    text: `The pack ${pack} refers to it (${item.relation}): ${item.identifier}.`,
    path: `/packs/${pack}`,
    source: item.kind === 'source' ? item.source : null,
  };
  return { subject: `drift:${pack}:${item.identifier}:${place}:${state}:${at}`, notice };
}

/** The number of packs that are read in one step. */
const PACKS_AT_ONCE = 200;

/** Which packs relate to a source or to an object. Read when the first rule about drift is applied, and then extended. */
class RelatingPacks {
  readonly #database: ReadDatabase;
  readonly #packs = new Map<string, Set<string>>();
  #after = 0;

  constructor(database: ReadDatabase) {
    this.#database = database;
  }

  /**
   * Reads the packs that were added since the last reading. Returns the packs that relate to a file of a pack which one of
   * them replaces. Those up to a ledger entry replace nothing that anybody asked about.
   */
  async readNew(sinceEntry: number): Promise<Set<string>> {
    const affected = new Set<string>();
    for (;;) {
      const page = packsAfter(this.#database, this.#after, PACKS_AT_ONCE);
      for (const { ledger_entry, id, supersedes, related } of page) {
        this.#after = ledger_entry;
        for (const identifier of related) this.#add(identifier, id);
        if (supersedes === null || ledger_entry <= sinceEntry) continue;
        for (const pack of this.#relatingToFilesOf(supersedes)) affected.add(pack);
      }
      if (page.length < PACKS_AT_ONCE) return affected;
      await yieldToEventLoop();
    }
  }

  /** Returns the packs that relate to one of these sources or objects. */
  relatingTo(keys: Iterable<string | null>): string[] {
    const found = new Set<string>();
    for (const key of keys) for (const pack of this.#packs.get(key ?? '') ?? []) found.add(pack);
    return [...found];
  }

  #relatingToFilesOf(pack: string): string[] {
    const row = packById(this.#database, pack);
    if (!row) return [];
    return this.relatingTo(filesOfPack(this.#database, row.ledger_entry).map(({ sha256 }) => sha256));
  }

  #add(identifier: string, pack: string): void {
    const digest = digestOf(identifier);
    const key = digest ?? (URL.canParse(identifier) ? sourceIdOf(normalizeUrl(identifier)) : undefined);
    if (key === undefined) return;
    const packs = this.#packs.get(key) ?? new Set();
    this.#packs.set(key, packs.add(pack));
  }
}

/** Returns the matches of an event for the passages that its source had before and has no longer as they were. */
async function matchPassages(
  { read }: Pick<Store, 'read'>,
  rules: readonly CompiledRule[],
  event: Event,
  { reader, signal }: { reader: ChangeReader; signal: AbortSignal },
): Promise<Match[]> {
  const { id, event_type, observer, observed_at, source } = event;
  if (event_type !== 'changed' || (observer !== SELF && observer !== BROWSER)) return [];
  const asking = rules.filter(
    ({ rule, matchesSource }) =>
      rule.when.passage_changed &&
      id > startPositionOf(rule, 'passage_changed').after_event &&
      matchesSource(source),
  );
  if (asking.length === 0) return [];
  const matches: Match[] = [];
  for (const { id: finding, passage } of passagesBefore(read, event)) {
    // Of bytes that were given up, nothing can be said.
    if (unreadable(read, passage.sha256, OWNER)) continue;
    if (!(await reader.passageChange(passage, event, signal))) continue;
    // The words are written into the message when it is sent, if they may be read then.
    const notice = {
      kind: 'passage_changed' as const,
      at: observed_at,
      event: id,
      title: null,
      text: null,
      path: `/findings?q=${finding}`,
      finding,
      source: { id: source.id, url: source.url, name: source.name },
    };
    for (const { rule } of asking)
      matches.push({ rule: rule.id, subject: `passage_changed:${finding}:${id}`, notice });
    await yieldToEventLoop();
  }
  return matches;
}
