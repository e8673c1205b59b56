import type { AlertPace } from '../../shared/alerts/alert.ts';
import { instantOf } from '../../shared/values/clock.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  type AlertRule,
  hasNotice,
  insertDelivery,
  insertNotice,
  type Notice,
  putConfirmation,
  ruleById,
} from '../store/sqlite/node/alerts.ts';
import type { Store } from '../store/store.ts';

/** A failed attempt is repeated for this long. */
export const GIVE_UP_AFTER_MS = 86_400_000;
/** A change is looked at again after this time, if the rule wants it to be confirmed. */
const CONFIRM_AFTER_MS = 30_000;
/** If a rule matches more things together, they go out in one message. */
const MAX_SINGLE = 20;
/** Maximum matches per message; the others are counted. */
const MAX_NOTICES = 50;
/** The hour of this machine at which daily digests are sent. */
const DAILY_AT_HOUR = 7;

/** What a rule matched. `subject` identifies it, so that it is sent once. */
export interface Match {
  rule: string;
  subject: string;
  notice: Notice;
  /** The change that a rule may want confirmed before it alerts. */
  change?: number;
}

type QueueContext = Pick<Store, 'clock' | 'randomHex'>;

/**
 * Stores what rules matched and queues the messages, in one transaction, or what is to be confirmed before. A stored match
 * is not sent again.
 */
export function queueMatches(
  database: WriteDatabase,
  matches: readonly Match[],
  context: QueueContext,
): void {
  for (const [id, found] of Map.groupBy(matches, ({ rule }) => rule)) {
    // The rule may have been removed or paused meanwhile.
    const rule = ruleById(database, id);
    if (!rule || rule.paused) continue;
    const now = context.clock.now();
    const due_at = rule.every === 'at_once' ? null : instantOf(digestDueAt(now, rule.every));
    const added = found.filter((match) => {
      if (!rule.when.confirm || match.change === undefined)
        return insertNotice(database, { ...match, due_at });
      if (!hasNotice(database, id, match.subject))
        putConfirmation(database, {
          rule: id,
          event: match.change,
          due_at: instantOf(now + CONFIRM_AFTER_MS),
        });
      return false;
    });
    if (due_at !== null || added.length === 0) continue;
    const notices = added.map(({ notice }) => notice);
    const messages = notices.length > MAX_SINGLE ? [notices] : notices.map((notice) => [notice]);
    for (const message of messages) queueMessage(database, rule, message, context);
  }
}

/** Queues a message to each target of a rule. Returns the ids of the deliveries. */
export function queueMessage(
  database: WriteDatabase,
  rule: AlertRule,
  notices: readonly Notice[],
  { clock, randomHex }: QueueContext,
  test = false,
): string[] {
  const now = clock.now();
  return rule.to.map((target) => {
    const id = `ad_${randomHex(20)}`;
    insertDelivery(database, {
      id,
      rule: rule.id,
      rule_name: rule.name,
      target,
      notices: notices.slice(0, MAX_NOTICES),
      count: notices.length,
      // A test is sent by the request for it.
      state: test ? 'sending' : 'waiting',
      test,
      created_at: instantOf(now),
      due_at: instantOf(now),
      gives_up_at: instantOf(now + GIVE_UP_AFTER_MS),
    });
    return id;
  });
}

/** Returns when the digest with something that was found now is due: at the next full hour, or at seven in the morning. */
function digestDueAt(now: number, every: Exclude<AlertPace, 'at_once'>): number {
  const due = new Date(now);
  if (every === 'hourly') due.setHours(due.getHours() + 1, 0, 0, 0);
  else due.setHours(DAILY_AT_HOUR, 0, 0, 0);
  if (due.getTime() <= now) due.setDate(due.getDate() + 1);
  return due.getTime();
}
