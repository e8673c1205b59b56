import type {
  Alert,
  AlertChange,
  AlertTest,
  DeliveriesQuery,
  Delivery,
  NewAlert,
} from '../../shared/alerts/alert.ts';
import type { RequestedSettings, Settings, SettingsChange } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import type { Slice } from '../../shared/values/list.ts';
import { isReadOnly } from '../ledger/appendEntry.ts';
import { shuttingDown } from '../runtime/jobs.ts';
import {
  type DeliveryRow,
  deleteRule,
  deliveriesPage,
  deliveryById,
  hasRules,
  hasUnsent,
  type Notice,
  ruleById,
  setDueNow,
  setWaiting,
} from '../store/sqlite/node/alerts.ts';
import type { AlertEngine } from './engine.ts';
import { GIVE_UP_AFTER_MS, queueMessage } from './queue.ts';
import { addRule, asAlert, changeRule, listRules, requireRule } from './rules.ts';
import { AlertSecrets, changeSettingsWithMail } from './secrets.ts';
import type { ShowOnDesktop } from './sending/sender.ts';
import type { AlertServices } from './services.ts';

/**
 * Alert rules and their deliveries. The background work is loaded with the first rule or the first queued message.
 */
export class Alerts {
  readonly #services: AlertServices;
  readonly #secrets: AlertSecrets;
  #engine: Promise<AlertEngine> | undefined;
  #url = '';
  #desktop: ShowOnDesktop | undefined;
  #isClosed = false;

  constructor(services: AlertServices) {
    this.#services = services;
    this.#secrets = new AlertSecrets(services.store.folder);
  }

  /** Begins to work in the background. @param url the address of the node on this machine, for links. */
  async start(url: string): Promise<void> {
    const { read } = this.#services.store;
    this.#url = url;
    if (!isReadOnly(read) && (hasRules(read) || hasUnsent(read))) await this.#start();
  }

  /** Shows notifications from now on. Those that wait are shown first. */
  showOnDesktop(show: ShowOnDesktop): void {
    this.#desktop = show;
    // If it could not be opened, the caller got the error. The next caller tries again.
    this.#engine?.then(
      (engine) => engine.wake(),
      () => {},
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#engine)?.close();
  }

  list(page: { limit: number; offset: number }): Slice<Alert> {
    return listRules(this.#services.store.read, page);
  }

  /** @throws Problem `not_found` */
  read(id: string): Alert {
    return asAlert(requireRule(this.#services.store.read, id));
  }

  /** @throws Problem `private_address`, `unknown_source` */
  async add(added: NewAlert): Promise<Alert> {
    const alert = await addRule({ ...this.#services, secrets: this.#secrets }, added);
    await this.#wake();
    return alert;
  }

  /** @throws Problem `not_found`, `private_address`, `unknown_source` */
  async change(id: string, change: AlertChange): Promise<Alert> {
    const alert = await changeRule({ ...this.#services, secrets: this.#secrets }, id, change);
    await this.#wake();
    return alert;
  }

  /** @throws Problem `not_found` */
  async remove(id: string): Promise<void> {
    const { store } = this.#services;
    requireRule(store.read, id);
    await this.#secrets.withWebhookSecrets(id, new Map(), () =>
      store.write((database) => deleteRule(database, id)),
    );
  }

  /** Makes one attempt to send a test to each target of a rule. @throws Problem `not_found`, `shutting_down` */
  async test(id: string): Promise<AlertTest> {
    const { store } = this.#services;
    requireRule(store.read, id);
    const engine = await this.#start();
    const ids = await store.write((database) => {
      const rule = ruleById(database, id);
      return rule ? queueMessage(database, rule, [testNotice(rule.name, store.instant())], store, true) : [];
    });
    await Promise.all(ids.map((delivery) => engine.deliver(delivery)));
    return {
      deliveries: ids.flatMap((delivery) => {
        const row = deliveryById(store.read, delivery);
        return row ? [shownDelivery(row)] : [];
      }),
    };
  }

  deliveries(query: DeliveriesQuery): Slice<Delivery> {
    const { read } = this.#services.store;
    const { items, total } = deliveriesPage(read, query);
    return { items: items.map(shownDelivery), total };
  }

  /** Sends a failed delivery again. @throws Problem `not_found`, `not_failed` */
  async retry(id: string): Promise<Delivery> {
    const { store } = this.#services;
    const now = store.clock.now();
    await store.write((database) => {
      const row = deliveryById(database, id);
      if (!row) throw new Problem('not_found', `There is no delivery ${id}.`);
      if (row.state !== 'failed')
        throw new Problem('not_failed', 'This delivery did not fail, so it is not sent again.');
      setWaiting(database, { id, due_at: instantOf(now), gives_up_at: instantOf(now + GIVE_UP_AFTER_MS) });
    });
    await this.#wake();
    const row = deliveryById(store.read, id);
    if (!row) throw new Problem('not_found', `There is no delivery ${id}.`);
    return shownDelivery(row);
  }

  /** Changes settings. With a new mail server, messages that wait are sent now. */
  async changeSettings(
    requested: RequestedSettings,
    change: (change: SettingsChange) => Promise<Settings>,
  ): Promise<Settings> {
    const { store, settings } = this.#services;
    const current = () => settings.current;
    const changed = await changeSettingsWithMail(requested, { current, secrets: this.#secrets, change });
    if (requested.smtp && this.#engine) {
      await store.write((database) => setDueNow(database, 'email', store.instant()));
      await this.#wake();
    }
    return changed;
  }

  async #wake(): Promise<void> {
    (await this.#start()).wake();
  }

  #start(): Promise<AlertEngine> {
    if (this.#isClosed) throw shuttingDown();
    this.#engine ??= this.#open().catch((error: unknown) => {
      this.#engine = undefined;
      throw error;
    });
    return this.#engine;
  }

  async #open(): Promise<AlertEngine> {
    const { AlertEngine } = await import('./engine.ts');
    const engine = new AlertEngine(this.#services, {
      secrets: this.#secrets,
      desktop: () => this.#desktop,
      origin: () => this.#services.publicOrigin() ?? this.#url,
    });
    await engine.start();
    return engine;
  }
}

function testNotice(name: string, at: string): Notice {
  return {
    kind: 'test',
    at,
    event: null,
    title: 'This is a test of Strongroom',
    text: `The alert “${name}” can reach you here.`,
    path: '/alerts',
    source: null,
  };
}

/** Returns a delivery as it is listed. */
function shownDelivery(row: DeliveryRow): Delivery {
  const { id, rule, rule_name, target, state, test, count, notices, created_at, attempts, sent_at, error } =
    row;
  return {
    id,
    alert: { id: rule, name: rule_name },
    to: target,
    state,
    test,
    title: row.message?.title ?? null,
    count,
    events: [...new Set(notices.flatMap(({ event }) => event ?? []))],
    created_at,
    attempts,
    next_attempt_at: state === 'waiting' ? row.due_at : null,
    sent_at,
    error,
  };
}
