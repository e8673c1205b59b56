import { conditionsOf } from '../../shared/alerts/alert.ts';
import { type Event } from '../../shared/collection/event.ts';
import { watchedRegion } from '../../shared/collection/noise.ts';
import { SELF } from '../../shared/collection/observers.ts';
import { Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { IdleMonitor } from '../collection/derived/idleMonitor.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import type { Diffs } from '../collection/diff/diffs.ts';
import type { Network } from '../collection/fetch/requester.ts';
import type { Noise } from '../collection/noise/noise.ts';
import { preparedWords } from '../collection/noise/words.ts';
import type { Post } from '../ledger/outgoing.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import type { SettingsStore } from '../store/settings.ts';
import { newestPage } from '../store/sqlite/collection/pages.ts';
import { sourceById } from '../store/sqlite/collection/sources.ts';
import { type Change, changeOf } from '../store/sqlite/collection/timeline/eventNoise.ts';
import { changesOfSourceAfter, eventById, lastEventId } from '../store/sqlite/collection/timeline/events.ts';
import {
  type Confirmation,
  deleteConfirmation,
  deliveryById,
  dueConfirmations,
  failInterrupted,
  hasNotice,
  insertNotice,
  nextConfirmationAt,
  ruleById,
} from '../store/sqlite/node/alerts.ts';
import type { Store } from '../store/store.ts';
import { ChangeReader } from './changeReader.ts';
import { Matcher, matchOf } from './matching/matcher.ts';
import { queueMatches } from './queue.ts';
import type { AlertSecrets } from './secrets.ts';
import { Sender, type SenderServices } from './sending/sender.ts';

/** What alerts need of the node. */
export interface AlertServices {
  store: Store;
  settings: SettingsStore;
  diffs: Pick<Diffs, 'comparisonOf' | 'comparisonWith'>;
  noise: Pick<Noise, 'check'>;
  /** Checks a source now. Resolves when its page is drawn too, if that is asked for. */
  recheck: (source: string, options: { withPage: boolean }) => Promise<void>;
  passages: Pick<Passages, 'change' | 'hasWords'>;
  post: Post;
  log: Log;
  /** How names of webhooks are resolved, and which addresses are private. */
  network: Network;
  /** The public address of the node, if it has one. */
  publicOrigin: () => string | undefined;
  idleMs?: number | undefined;
}

/** The interval at which states without a record are checked, while a rule needs them. */
const POLL_INTERVAL_MS = 60_000;
/** The pause after an error. */
const AFTER_ERROR_MS = 60_000;

const INTERRUPTED =
  'The node stopped while it was sending the message. It may have arrived, so it is not sent again automatically.';

/** The background work of alerts: compares events with the rules and sends messages. Runs only while there are any. */
export class AlertEngine {
  readonly #services: AlertServices;
  readonly #idleMonitor: IdleMonitor;
  readonly #matcher: Matcher;
  readonly #confirmer: Confirmer;
  readonly #sender: Sender;
  readonly #closing = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #toMatch = new AlertTrigger();
  readonly #toConfirm = new AlertTrigger();
  readonly #toSend = new AlertTrigger();

  constructor(
    services: AlertServices,
    shared: { secrets: AlertSecrets } & Pick<SenderServices, 'desktop' | 'origin'>,
  ) {
    const { store, settings, log, idleMs } = services;
    this.#services = services;
    this.#idleMonitor = new IdleMonitor(store, idleMs);
    const reader = new ChangeReader(services);
    const { write } = this.#idleMonitor;
    this.#matcher = new Matcher({ store, settings: () => settings.current, reader, write });
    this.#confirmer = new Confirmer({ store, reader, log, recheck: services.recheck });
    this.#sender = new Sender({
      ...shared,
      store,
      settings: () => settings.current,
      reader,
      post: services.post,
      log,
      write,
    });
  }

  /** Continues what an earlier run of the node left. */
  async start(): Promise<void> {
    await this.#services.store.write((database) => failInterrupted(database, INTERRUPTED));
    this.#idleMonitor.start(() => this.#toMatch.now());
    this.#loops.push(
      this.#repeat(() => this.#match()),
      this.#repeat(() => this.#confirm()),
      this.#repeat(() => this.#send()),
    );
  }

  /** Looks again now: a rule, a setting or a message changed. */
  wake(): void {
    this.#toMatch.now();
    this.#toConfirm.now();
    this.#toSend.now();
  }

  /** Makes one attempt to send a delivery now. */
  async deliver(id: string): Promise<void> {
    const delivery = deliveryById(this.#services.store.read, id);
    if (delivery) await this.#sender.deliver(delivery, this.#closing.signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#idleMonitor.stop();
    this.wake();
    await Promise.all(this.#loops);
    await this.#sender.idle();
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    const { log, store } = this.#services;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) return;
        log.error({ error }, 'Processing alerts failed.');
        await store.clock.sleep(AFTER_ERROR_MS, signal);
      }
      await yieldToEventLoop();
    }
  }

  async #match(): Promise<void> {
    const { signal } = this.#closing;
    const woken = this.#toMatch.next();
    await this.#idleMonitor.waitUntilIdle(signal);
    const { needsPolling } = await this.#matcher.poll(signal);
    this.#toConfirm.now();
    this.#toSend.now();
    await this.#sleep(woken, needsPolling ? POLL_INTERVAL_MS : undefined);
  }

  async #confirm(): Promise<void> {
    const woken = this.#toConfirm.next();
    const ms = await this.#confirmer.poll(this.#closing.signal);
    this.#toSend.now();
    await this.#sleep(woken, ms);
  }

  async #send(): Promise<void> {
    const woken = this.#toSend.next();
    const ms = await this.#sender.poll(this.#closing.signal, () => this.#toSend.now());
    await this.#sleep(woken, ms);
  }

  /** Waits until woken, or for a time if there is one. */
  async #sleep(woken: Promise<void>, ms: number | undefined): Promise<void> {
    const over = new AbortController();
    const { clock } = this.#services.store;
    await Promise.race([woken, ...(ms === undefined ? [] : [clock.sleep(ms, over.signal)])]);
    over.abort();
  }
}

/** Wakes one waiting loop. A call while the loop works is not lost. */
class AlertTrigger {
  #wake = () => {};

  /** Returns a promise of the next call of `now`. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  now(): void {
    this.#wake();
  }
}

type ConfirmerServices = Pick<AlertServices, 'recheck' | 'log'> & {
  store: AlertServices['store'];
  reader: ChangeReader;
};

/**
 * Fetches sources a second time after a change that a rule wants confirmed, and alerts if the change still stands. What is
 * to be confirmed is stored, so that a crash neither loses an alert nor sends it twice.
 */
class Confirmer {
  readonly #services: ConfirmerServices;

  constructor(services: ConfirmerServices) {
    this.#services = services;
  }

  /** Confirms what is due. Returns after how many milliseconds there is more; undefined if there is nothing. */
  async poll(signal: AbortSignal): Promise<number | undefined> {
    const { store } = this.#services;
    const due = dueConfirmations(store.read, instantOf(store.clock.now()));
    const events = new Map(due.map(({ event }) => [event, eventById(store.read, event)]));
    for (const [source, found] of Map.groupBy(due, ({ event }) => events.get(event)?.source.id)) {
      signal.throwIfAborted();
      const open = found.filter((each) => !this.#isSettled(each));
      // Only a change of a drawn page is judged by the page.
      const withPage = open.some(({ event }) => events.get(event)?.observer !== SELF);
      const isFetched =
        source !== undefined && open.length > 0 && (await this.#fetch(source, withPage, signal));
      for (const each of found) await this.#settle(each, events.get(each.event), isFetched, signal);
    }
    const next = nextConfirmationAt(store.read);
    return next === undefined ? undefined : Math.max(0, Date.parse(next) - store.clock.now());
  }

  /** Whether the rule is gone, or has taken the change into account with an earlier one. */
  #isSettled({ rule, event }: Confirmation): boolean {
    const { read } = this.#services.store;
    return !ruleById(read, rule) || hasNotice(read, rule, `event:${event}`);
  }

  /** Returns false if the source cannot be fetched now: an extra alert is better than a missing one. */
  async #fetch(source: string, withPage: boolean, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#services.recheck(source, { withPage });
      return sourceById(this.#services.store.read, source)?.last_error === null;
    } catch (error) {
      if (signal.aborted || (error instanceof Problem && error.code === 'shutting_down')) throw error;
      // A source that is no longer watched cannot be fetched either.
      this.#services.log.warn({ error, source }, 'A change could not be confirmed');
      return false;
    }
  }

  async #settle(
    confirmation: Confirmation,
    event: Event | undefined,
    isFetched: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { store } = this.#services;
    // A change that is recorded from here on was not judged.
    const judged = lastEventId(store.read);
    const stands =
      event !== undefined &&
      !this.#isSettled(confirmation) &&
      (!isFetched || (await this.#stillStands(confirmation, event, signal)));
    await store.write((database) => {
      if (!deleteConfirmation(database, confirmation) || !event) return;
      const { rule } = confirmation;
      const { subject } = matchOf(event);
      if (hasNotice(database, rule, subject)) return;
      // The second fetch judged the change from the version before it to the newest: what lies between is part of that.
      if (isFetched)
        for (const later of changesOfSourceAfter(database, {
          ...event,
          source: event.source.id,
          until: judged,
        }))
          insertNotice(database, { rule, ...matchOf(later), due_at: null });
      if (stands) queueMatches(database, [{ rule, ...matchOf(event) }], store);
      else insertNotice(database, { rule, ...matchOf(event), due_at: null });
    });
  }

  /** Whether the newest version is that of the change, or the change from the version before it would match too. */
  async #stillStands({ rule }: Confirmation, event: Event, signal: AbortSignal): Promise<boolean> {
    const { store, reader } = this.#services;
    const change = changeOf(store.read, event);
    const newest = newestOf(store.read, event, change);
    if (!change || newest === undefined || newest === change.to) return true;
    if (newest === change.from) return false;
    const when = ruleById(store.read, rule)?.when ?? {};
    // A rule that asks for what is outside or noise is not to be refused because it is.
    if (when.labels?.includes('outside')) return true;
    if (when.words && !(await reader.hasWordsUntil(event, newest, preparedWords(when.words), signal)))
      return false;
    const conditions = conditionsOf(when);
    const { rules, watch } = change.scope;
    const isStrict = conditions !== undefined || when.not_noise === true || watch !== null;
    const scope = { ...change.scope, rules: isStrict ? rules : [] };
    return reader.changeMeets({ ...change, scope, to: newest }, conditions ?? {}, signal);
  }
}

/** Returns the object of the newest version that is to be compared with those of a change. */
function newestOf(
  read: AlertServices['store']['read'],
  { observer, source, sha256 }: Event,
  change: Change | undefined,
): string | undefined {
  const found = sourceById(read, source.id);
  if (!found || observer === SELF) return found?.last_sha256 ?? undefined;
  const page = newestPage(read, found.key);
  if (change?.to === sha256) return page?.text;
  return change && watchedRegion(change.scope.watch) ? page?.picture : page?.document;
}
