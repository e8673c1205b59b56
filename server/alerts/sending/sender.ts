import type { AlertMessage } from '../../../shared/alerts/alert.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { Post } from '../../ledger/outgoing.ts';
import type { Log } from '../../runtime/log.ts';
import {
  type DeliveryRow,
  deleteEndedBefore,
  dequeueDigest,
  dueDeliveries,
  nextDeliveryAt,
  nextDigestAt,
  ruleById,
  rulesWithDueDigest,
  setMessage,
  setOutcome,
  setSending,
  setUnsent,
} from '../../store/sqlite/node/alerts.ts';
import type { Store } from '../../store/store.ts';
import type { ChangeReader } from '../changeReader.ts';
import { queueMessage } from '../queue.ts';
import type { AlertSecrets } from '../secrets.ts';
import { composeMessage, isCurrent, isStillReadable } from './compose.ts';
import { nextAttemptAt, type Outcome, sendWebhook } from './targets.ts';

/** Shows a notification on this machine. */
export type ShowOnDesktop = (message: AlertMessage) => void;

export interface SenderServices {
  store: Store;
  settings: () => Settings;
  reader: ChangeReader;
  secrets: AlertSecrets;
  post: Post;
  log: Log;
  origin: () => string;
  /** Shows notifications, if the desktop app is open. */
  desktop: () => ShowOnDesktop | undefined;
  write: Store['write'];
}

/** Messages sent at the same time, each to another target. */
const MAX_PARALLEL = 8;
/** After an error of the store, nothing is sent to the same target for this long. */
const AFTER_ERROR_MS = 60_000;
/** Deliveries that ended this long ago are no longer listed. */
const KEEP_ENDED_MS = 90 * 86_400_000;
/** The clock may be changed during a wait, so a wait is at most this long while a message is queued. */
const POLL_INTERVAL_MS = 60_000;
/** The pause before the next messages are read if more are due than were read at once. */
const SOON_MS = 100;

/** Sends what is queued, each target's messages one after another. */
export class Sender {
  readonly #services: SenderServices;
  readonly #busy = new Map<string, Promise<void>>();

  constructor(services: SenderServices) {
    this.#services = services;
  }

  /** Starts sending due messages. Returns the milliseconds until the next one is due; undefined if none waits. */
  async poll(signal: AbortSignal, onFinished: () => void): Promise<number | undefined> {
    const { store, desktop, log } = this.#services;
    await this.#openDigests();
    const now = store.clock.now();
    const scope = { hasDesktop: desktop() !== undefined, busy: [...this.#busy.keys()] };
    const due = dueDeliveries(store.read, { ...scope, now: instantOf(now), limit: MAX_PARALLEL * 10 });
    for (const delivery of due) {
      const target = JSON.stringify(delivery.target);
      if (this.#busy.has(target) || this.#busy.size >= MAX_PARALLEL) continue;
      const work = this.deliver(delivery, signal)
        .catch(async (error: unknown) => {
          if (signal.aborted) return;
          log.warn({ error, delivery: delivery.id }, 'The outcome of an alert could not be recorded.');
          await store.clock.sleep(AFTER_ERROR_MS, signal);
        })
        .finally(() => {
          this.#busy.delete(target);
          onFinished();
        });
      this.#busy.set(target, work);
    }
    const next = [
      nextDeliveryAt(store.read, { ...scope, busy: [...this.#busy.keys()] }),
      nextDigestAt(store.read),
    ].flatMap((at) => (at === undefined ? [] : [Date.parse(at) - now]));
    if (next.length === 0) return undefined;
    // A message that is due already was behind many others. With no free slot it waits for the next that ends.
    const soonest = this.#busy.size < MAX_PARALLEL ? SOON_MS : POLL_INTERVAL_MS;
    return Math.min(POLL_INTERVAL_MS, Math.max(soonest, Math.min(...next)));
  }

  /** Waits for what is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  /** Makes one attempt to send a delivery, and records the outcome. */
  async deliver(delivery: DeliveryRow, signal: AbortSignal): Promise<void> {
    const { store, write } = this.#services;
    const outcome = await this.#prepareAndAttempt(delivery, signal);
    const now = store.clock.now();
    await write((database) => {
      // An attempt that was cut off when the node stopped is repeated, unless the text was being sent.
      if (signal.aborted && outcome.kind === 'retry') {
        setUnsent(database, delivery.id);
        return;
      }
      setOutcome(database, this.#recorded(delivery, outcome, now));
      deleteEndedBefore(database, instantOf(now - KEEP_ENDED_MS));
    });
  }

  #recorded(
    { id, test, attempts, gives_up_at, due_at }: DeliveryRow,
    outcome: Outcome,
    now: number,
  ): Pick<DeliveryRow, 'id' | 'state' | 'due_at' | 'sent_at' | 'error'> {
    if (outcome.kind === 'sent') return { id, state: 'sent', due_at, sent_at: instantOf(now), error: null };
    const { kind, error } = outcome;
    const next =
      kind === 'retry' && !test ? nextAttemptAt(attempts + 1, now, Date.parse(gives_up_at)) : undefined;
    if (next === undefined) return { id, state: 'failed', due_at, sent_at: null, error };
    return { id, state: 'waiting', due_at: instantOf(next), sent_at: null, error };
  }

  async #prepareAndAttempt(delivery: DeliveryRow, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#attempt(delivery, await this.#messageOf(delivery, signal), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#services.log.warn({ error, delivery: delivery.id }, 'An alert could not be sent.');
      return { kind: 'retry', error: 'The node could not prepare the message. See its log for the reason.' };
    }
  }

  /** Returns what a delivery says. A message is kept only if nothing in it was withheld or released while it was composed. */
  async #messageOf(delivery: DeliveryRow, signal: AbortSignal): Promise<AlertMessage> {
    const { store, write } = this.#services;
    if (delivery.message && isStillReadable(store.read, delivery.message)) return delivery.message;
    for (;;) {
      const composed = await composeMessage(delivery, this.#services, signal);
      const isKept = await write((database) => {
        if (!isCurrent(database, composed)) return false;
        setMessage(database, delivery.id, composed.message);
        return true;
      });
      if (isKept) return composed.message;
    }
  }

  #attempt(delivery: DeliveryRow, message: AlertMessage, signal: AbortSignal): Promise<Outcome> {
    switch (delivery.target.kind) {
      case 'desktop':
        return this.#showOnDesktop(delivery, message);
      case 'email':
        return this.#mail(delivery, delivery.target.address, message, signal);
      case 'webhook':
        return this.#callWebhook(delivery, delivery.target, message, signal);
    }
  }

  async #showOnDesktop({ id, test }: DeliveryRow, message: AlertMessage): Promise<Outcome> {
    const show = this.#services.desktop();
    if (!show)
      return {
        kind: 'retry',
        error: test
          ? 'Notifications need the desktop app, which is not open.'
          : 'Not delivered: the desktop app was closed for a day.',
      };
    // Recorded first, so that it is not shown twice after a crash.
    await this.#services.write((database) => setSending(database, id));
    show(message);
    return { kind: 'sent' };
  }

  async #mail(
    delivery: DeliveryRow,
    to: string,
    message: AlertMessage,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { settings, secrets, write } = this.#services;
    const { smtp, request_timeout_seconds } = settings();
    if (smtp === null) return { kind: 'retry', error: 'There is no mail server. Set one in the settings.' };
    // Loaded with the first message, because most nodes send none.
    const { mailText, sendMail } = await import('./targets.ts');
    const text = mailText(delivery, { from: smtp.from, to }, message);
    const server = {
      smtp,
      password: smtp.has_password ? await secrets.smtpPassword() : undefined,
      timeoutMs: request_timeout_seconds * 1000,
    };
    const beforeText = () => write((database) => void setSending(database, delivery.id));
    return sendMail(server, { from: smtp.from, to, text }, { beforeText, signal });
  }

  async #callWebhook(
    delivery: DeliveryRow,
    { url, allow_private }: { url: string; allow_private: boolean },
    message: AlertMessage,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { store, post, secrets } = this.#services;
    const secret = await secrets.webhookSecret(delivery.rule, url);
    if (secret === undefined)
      return { kind: 'refused', error: 'The alert no longer has this webhook, or its secret is missing.' };
    const now = () => store.clock.now();
    try {
      return await sendWebhook({ post, now }, { ...delivery, url, allowPrivate: allow_private }, message, {
        secret,
        signal,
      });
    } catch (error) {
      if (!signal.aborted) throw error;
      return { kind: 'retry', error: 'The node is shutting down.' };
    }
  }

  /** Queues the digests that are due as messages. */
  async #openDigests(): Promise<void> {
    const { store, write } = this.#services;
    const now = instantOf(store.clock.now());
    for (const id of rulesWithDueDigest(store.read, now)) {
      await write((database) => {
        const rule = ruleById(database, id);
        const notices = dequeueDigest(database, id, now);
        if (rule && notices.length > 0) queueMessage(database, rule, notices, store);
      });
    }
  }
}
