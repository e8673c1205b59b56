import {
  type Alert,
  type AlertChange,
  type AlertTarget,
  type AlertTest,
  asksForText,
  type DeliveriesQuery,
  type Delivery,
  type NewAlert,
  type NewAlertTarget,
  type ShownAlertTarget,
  subjectsOf,
} from '../../shared/alerts/alert.ts';
import { watchedRegion } from '../../shared/collection/noise.ts';
import type { RequestedSettings, Settings, SettingsChange } from '../../shared/node/settings.ts';
import { type FieldError, Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { Network } from '../collection/fetch/requester.ts';
import { PrivateAddressCheck } from '../collection/sources/privateSources.ts';
import { requireExpression } from '../collection/sources/sources.ts';
import { isReadOnly } from '../ledger/appendEntry.ts';
import { shuttingDown } from '../runtime/jobs.ts';
import { type SourceRow, sourceById } from '../store/sqlite/collection/sources.ts';
import { lastEventId } from '../store/sqlite/collection/timeline/events.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import {
  type AlertRule,
  allRules,
  type DeliveryRow,
  deleteRule,
  deliveriesPage,
  deliveryById,
  hasRules,
  hasUnsent,
  type Notice,
  putRule,
  ruleById,
  type StartPosition,
  setDueNow,
  setWaiting,
} from '../store/sqlite/node/alerts.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import type { AlertEngine, AlertServices } from './engine.ts';
import { GIVE_UP_AFTER_MS, queueMessage } from './queue.ts';
import { AlertSecrets, changeSettingsWithMail } from './secrets.ts';
import type { ShowOnDesktop } from './sending/sender.ts';

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
      await store.write((database) => setDueNow(database, { kind: 'email', now: store.instant() }));
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

interface RuleServices {
  store: Store;
  network: Network;
  secrets: AlertSecrets;
}

/** The length of a secret that the node makes, in bytes. */
const SECRET_BYTES = 32;

/** @throws Problem `not_found` */
function requireRule(read: ReadDatabase, id: string): AlertRule {
  const rule = ruleById(read, id);
  if (!rule) throw new Problem('not_found', `There is no alert ${id}.`);
  return rule;
}

function listRules(read: ReadDatabase, { limit, offset }: { limit: number; offset: number }): Slice<Alert> {
  const all = allRules(read);
  return { items: all.slice(offset, offset + limit).map((rule) => asAlert(rule)), total: all.length };
}

/** Returns a rule as it is shown, with the secrets that the node has just made. */
function asAlert(rule: AlertRule, made: ReadonlyMap<string, string> = new Map()): Alert {
  const {
    active_since: _since,
    after_event: _event,
    after_entry: _entry,
    began_later: _later,
    to,
    ...shown
  } = rule;
  return {
    ...shown,
    to: to.map((target): ShownAlertTarget => {
      const secret = target.kind === 'webhook' ? made.get(target.url) : undefined;
      return target.kind === 'webhook' && secret !== undefined ? { ...target, secret } : target;
    }),
  };
}

/** Adds a rule. It applies to what happens from now on. @throws Problem `private_address`, `unknown_source` */
export async function addRule(services: RuleServices, added: NewAlert): Promise<Alert> {
  const { store, secrets } = services;
  await requireExpressionOf(added.when);
  await requireReachable(services.network, added.to);
  requireSources(store.read, added.when);
  const id = `al_${store.randomHex(20)}`;
  const { kept, made } = await secretsFor(services, id, added.to);
  const write = () =>
    store.write((database): AlertRule => {
      const at = store.instant();
      const next = {
        ...added,
        id,
        to: added.to.map(withoutSecret),
        created_at: at,
        ...fromNow(database, at),
        began_later: {},
      };
      putRule(database, next);
      return next;
    });
  const rule = await secrets.withWebhookSecrets(id, kept, write);
  return asAlert(rule, made);
}

/** @throws Problem `not_found`, `private_address`, `unknown_source` */
export async function changeRule(
  services: RuleServices,
  id: string,
  { to, ...change }: AlertChange,
): Promise<Alert> {
  const { store, secrets, network } = services;
  requireRule(store.read, id);
  await requireExpressionOf(change.when);
  if (to) await requireReachable(network, to);
  requireSources(store.read, change.when);
  const { kept, made } = to ? await secretsFor(services, id, to) : { kept: undefined, made: undefined };
  const write = () =>
    store.write((database) => {
      const before = requireRule(database, id);
      const isResumed = before.paused && change.paused === false;
      const now = fromNow(database, store.instant());
      const next: AlertRule = {
        ...before,
        ...change,
        ...(to && { to: to.map(withoutSecret) }),
        // What happened during the pause is not sent later.
        ...(isResumed ? { ...now, began_later: {} } : { began_later: laterStarts(before, change.when, now) }),
      };
      putRule(database, next);
      return next;
    });
  const rule = await (kept ? secrets.withWebhookSecrets(id, kept, write) : write());
  return asAlert(rule, made);
}

/** A condition that is new in a rule applies from now on, so that the past is not reported. */
function laterStarts(
  { when: before, began_later }: AlertRule,
  after: AlertRule['when'] = before,
  now: StartPosition,
): AlertRule['began_later'] {
  const known = new Set(subjectsOf(before));
  const added = subjectsOf(after).filter((subject) => !known.has(subject));
  return { ...began_later, ...Object.fromEntries(added.map((subject) => [subject, now])) };
}

function fromNow(database: ReadDatabase, at: string): StartPosition {
  return {
    active_since: at,
    after_event: lastEventId(database),
    after_entry: lastEntry(database)?.seq ?? 0,
  };
}

function withoutSecret(target: NewAlertTarget): AlertTarget {
  if (target.kind !== 'webhook') return target;
  return { kind: 'webhook', url: target.url, allow_private: target.allow_private ?? false };
}

/** Returns the secret of each webhook: the given, the stored or a new one. */
async function secretsFor(
  { store, secrets }: RuleServices,
  rule: string,
  to: readonly NewAlertTarget[],
): Promise<{ kept: Map<string, string>; made: Map<string, string> }> {
  const kept = new Map<string, string>();
  const made = new Map<string, string>();
  for (const target of to) {
    if (target.kind !== 'webhook') continue;
    const secret = target.secret ?? (await secrets.webhookSecret(rule, target.url));
    const next =
      secret ?? `whsec_${Buffer.from(store.randomHex(SECRET_BYTES * 2), 'hex').toString('base64')}`;
    if (secret === undefined) made.set(target.url, next);
    kept.set(target.url, next);
  }
  return { kept, made };
}

/** @throws Problem `private_address` for a webhook in a private network that the owner did not allow */
async function requireReachable(network: Network, to: readonly NewAlertTarget[]): Promise<void> {
  const check = new PrivateAddressCheck(network);
  const errors: FieldError[] = [];
  for (const [index, target] of to.entries()) {
    if (target.kind !== 'webhook' || target.allow_private || !(await check.allows(target.url))) continue;
    const message = 'This address is private. Allow that (allow_private) if it is intended.';
    errors.push({ path: `/to/${index}/url`, message });
  }
  if (errors.length > 0)
    throw new Problem('private_address', 'The webhook is on this machine or in a private network.', {
      errors,
    });
}

/** @throws Problem `invalid_field` if the pattern is not a regular expression */
async function requireExpressionOf(when: AlertRule['when'] | undefined): Promise<void> {
  if (when?.pattern !== undefined) await requireExpression(when.pattern, '/when/pattern');
}

/** @throws Problem `unknown_source`; `invalid_field` if words or numbers are looked for in a region of a picture */
function requireSources(read: ReadDatabase, when: AlertRule['when'] = {}): void {
  const errorsOf = (message: string, isWrong: (source: SourceRow | undefined) => boolean) =>
    (when.sources ?? []).flatMap((id, index) =>
      isWrong(sourceById(read, id)) ? [{ path: `/when/sources/${index}`, message }] : [],
    );
  const unknown = errorsOf('There is no such source.', (source) => source === undefined);
  if (unknown.length > 0)
    throw new Problem('unknown_source', 'The alert names an unknown source.', { errors: unknown });
  if (!asksForText(when)) return;
  const message =
    'Of this source, a region of the picture is watched, and a picture has neither words nor numbers.';
  const errors = errorsOf(message, (source) => watchedRegion(source?.watch ?? null) !== undefined);
  if (errors.length > 0) throw new Problem('invalid_field', message, { errors });
}
