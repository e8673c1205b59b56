import type { Settings } from '../../../shared/node/settings.ts';
import { eventsAfter, lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import { allRules, beginningOf } from '../../store/sqlite/node/alerts/rules.ts';
import { readSetting, writeSetting } from '../../store/sqlite/node/settings.ts';
import type { Store } from '../../store/store.ts';
import type { ChangeReader } from '../changeReader.ts';
import { type Match, queueMatches } from '../queue.ts';
import { type CompiledRule, compileRule } from './compiledRule.ts';
import { asksForConditions, matchConditions } from './matchConditions.ts';
import { matchDrift } from './matchDrift.ts';
import { matchEvent } from './matchEvents.ts';
import { matchDamages, matchFailures, matchRewrites } from './matchStates.ts';
import { RelatingPacks } from './relatingPacks.ts';

export interface MatcherServices {
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
  async look(signal: AbortSignal): Promise<{ looksAgain: boolean }> {
    const { store, settings, write } = this.#services;
    const rules = allRules(store.read)
      .filter(({ paused }) => !paused)
      .map(compileRule);
    if (rules.length === 0) return { looksAgain: false };
    await this.#lookAtEvents(rules, signal);
    const services = { store, settings };
    const found = [
      ...matchFailures(services, rules),
      ...matchDamages(services, rules),
      ...matchRewrites(services, rules),
      ...(await matchConditions(services, rules, { write, instant: store.instant })),
      ...(await matchDrift(store, rules, this.#packs, [])),
    ];
    if (found.length > 0) await this.#keep(found);
    return { looksAgain: asksForConditions(rules) };
  }

  async #lookAtEvents(rules: readonly CompiledRule[], signal: AbortSignal): Promise<void> {
    const { store, reader } = this.#services;
    const needsEvents = rules.filter(({ rule, isAboutEvents }) => isAboutEvents || rule.when.drift);
    if (needsEvents.length === 0) return;
    const beginnings = needsEvents.flatMap(({ rule, isAboutEvents }) => [
      ...(isAboutEvents ? [beginningOf(rule, 'events')] : []),
      ...(rule.when.drift ? [beginningOf(rule, 'drift')] : []),
    ]);
    const first = Math.min(...beginnings.map(({ after_event }) => after_event));
    let after = Math.max(Number(readSetting(store.read, CURSOR) ?? 0), first);
    const last = lastEventId(store.read);
    while (after < last) {
      const page = eventsAfter(store.read, after, PAGE);
      const found: Match[] = [];
      for (const event of page) {
        signal.throwIfAborted();
        found.push(...(await matchEvent(needsEvents, event, reader, signal)));
      }
      found.push(...(await matchDrift(store, rules, this.#packs, page)));
      after = page.at(-1)?.id ?? last;
      await this.#keep(found, after);
    }
  }

  #keep(found: readonly Match[], cursor?: number): Promise<void> {
    const { store, write } = this.#services;
    return write((database) => {
      queueMatches(database, found, store);
      if (cursor !== undefined) writeSetting(database, CURSOR, cursor);
    });
  }
}
