import {
  type Alert,
  type AlertChange,
  type AlertTarget,
  asksForText,
  type NewAlert,
  type NewAlertTarget,
  type ShownAlertTarget,
  subjectsOf,
} from '../../shared/alerts/alert.ts';
import { watchedRegion } from '../../shared/collection/noise.ts';
import { type FieldError, Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { Network } from '../collection/fetch/requester.ts';
import { PrivateAddressCheck } from '../collection/sources/privateSources.ts';
import { requireExpression } from '../collection/sources/sources.ts';
import { type SourceRow, sourceById } from '../store/sqlite/collection/sources.ts';
import { lastEventId } from '../store/sqlite/collection/timeline/events.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import {
  type AlertRule,
  allRules,
  putRule,
  ruleById,
  type StartPosition,
} from '../store/sqlite/node/alerts.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import type { AlertSecrets } from './secrets.ts';

interface RuleServices {
  store: Store;
  network: Network;
  secrets: AlertSecrets;
}

/** The length of a secret that the node makes, in bytes. */
const SECRET_BYTES = 32;

/** @throws Problem `not_found` */
export function requireRule(read: ReadDatabase, id: string): AlertRule {
  const rule = ruleById(read, id);
  if (!rule) throw new Problem('not_found', `There is no alert ${id}.`);
  return rule;
}

export function listRules(
  read: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): Slice<Alert> {
  const all = allRules(read);
  return { items: all.slice(offset, offset + limit).map((rule) => asAlert(rule)), total: all.length };
}

/** Returns a rule as it is shown, with the secrets that the node has just made. */
export function asAlert(rule: AlertRule, made: ReadonlyMap<string, string> = new Map()): Alert {
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
