import { createHmac } from 'node:crypto';
import type { AlertMessage } from '../../../shared/alerts/alert.ts';
import { OutgoingError, type Post } from '../../ledger/outgoing.ts';
import type { DeliveryRow } from '../../store/sqlite/node/alerts.ts';

/** The outcome of an attempt to send. `interrupted`: the receiver may have it, so it is not sent again automatically. */
export type Outcome = { kind: 'sent' } | { kind: 'retry' | 'refused' | 'interrupted'; error: string };

/** The pauses between attempts. The last attempt is a day after the first. */
const DELAYS_MS = [5, 60, 300, 1_800, 3_600, 7_200, 14_400, 21_600].map((seconds) => seconds * 1_000);

/** Returns when a message is sent again; undefined if its time is over. */
export function nextAttemptAt(attempts: number, now: number, givesUpAt: number): number | undefined {
  if (now >= givesUpAt) return undefined;
  return Math.min(now + (DELAYS_MS[attempts - 1] ?? DELAYS_MS.at(-1) ?? 0), givesUpAt);
}

/** The largest answer that is read. Nothing in it is used. */
const MAX_ANSWER_BYTES = 65_536;
/** The status with which a receiver unsubscribes (Standard Webhooks). */
const GONE = 410;

interface WebhookServices {
  post: Post;
  now: () => number;
}

/** Sends a message to a webhook, signed as Standard Webhooks says. Redirects are not followed. */
export async function sendWebhook(
  { post, now }: WebhookServices,
  delivery: Pick<DeliveryRow, 'id' | 'rule' | 'rule_name' | 'test'> & { url: string; allowPrivate: boolean },
  message: AlertMessage,
  { secret, signal }: { secret: string; signal: AbortSignal },
): Promise<Outcome> {
  const body = Buffer.from(webhookBody(delivery, message));
  const timestamp = Math.floor(now() / 1000);
  try {
    const { status } = await post({
      url: delivery.url,
      allowPrivate: delivery.allowPrivate,
      contentType: 'application/json',
      accept: '*/*',
      headers: {
        'webhook-id': delivery.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf({ id: delivery.id, timestamp, body, secret }),
      },
      body,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
    return outcomeOf(status);
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return { kind: 'retry', error: error.message };
  }
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  if (status === GONE)
    return { kind: 'refused', error: 'The receiver answered 410 (Gone): it does not want any more alerts.' };
  if (status >= 300 && status < 400)
    return { kind: 'retry', error: `The receiver answered ${status}. Redirects are not followed.` };
  return { kind: 'retry', error: `The receiver answered ${status}.` };
}

/** The body is the same in each attempt. */
function webhookBody(
  { rule, rule_name, test }: Pick<DeliveryRow, 'rule' | 'rule_name' | 'test'>,
  { at, title, alerts, more }: AlertMessage,
): string {
  return JSON.stringify({
    type: test ? 'alert.test' : alerts.length + more > 1 ? 'alert.digest' : `alert.${alerts[0]?.kind}`,
    timestamp: at,
    data: { rule: { id: rule, name: rule_name }, title, alerts, more },
  });
}

/** Returns the value of `webhook-signature`: HMAC-SHA256 over the id, the timestamp and the body. */
function signatureOf({
  id,
  timestamp,
  body,
  secret,
}: {
  id: string;
  timestamp: number;
  body: Uint8Array;
  secret: string;
}): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}
