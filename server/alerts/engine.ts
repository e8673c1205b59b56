import { IdleMonitor } from '../collection/derived/idleMonitor.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { deliveryById, failInterrupted } from '../store/sqlite/node/alerts.ts';
import { ChangeReader } from './changeReader.ts';
import { Confirmer } from './confirmer.ts';
import { Matcher } from './matching/matcher.ts';
import type { AlertSecrets } from './secrets.ts';
import { Sender, type SenderServices } from './sending/sender.ts';
import type { AlertServices } from './services.ts';

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
  readonly #toMatch = new Signal();
  readonly #toConfirm = new Signal();
  readonly #toSend = new Signal();

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
class Signal {
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
