import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { AlertMessage } from '../../../shared/alerts/alert.ts';
import type { Smtp } from '../../../shared/alerts/smtp.ts';
import { plainLine } from '../../collection/diff/summarize.ts';
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
    return outcomeOfStatus(status);
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return { kind: 'retry', error: error.message };
  }
}

function outcomeOfStatus(status: number): Outcome {
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

/** The bytes of an encoded word (RFC 2047), so that it is at most 75 characters long, and the length of a line. */
const WORD_BYTES = 42;
const LINE_CHARACTERS = 76;

/**
 * Returns a message as it is sent by SMTP (RFC 5322): plain text only, so that no mail program interprets what strangers
 * wrote, and in base64, so that no line of theirs is too long or ends the message. The title is one line, so it adds no
 * header.
 */
export function mailText(
  { id, rule_name, created_at }: Pick<DeliveryRow, 'id' | 'rule_name' | 'created_at'>,
  { from, to }: { from: string; to: string },
  message: AlertMessage,
): Buffer {
  const domain = /@([^>@\s]+)>?$/.exec(from)?.[1] ?? 'localhost';
  const head = [
    `From: ${senderHeader(from)}`,
    `To: ${to}`,
    `Subject: ${encodedWords(message.title)}`,
    `Date: ${new Date(created_at).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}@${domain}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
  ];
  const body = Buffer.from(bodyOf(rule_name, message)).toString('base64');
  const lines = body.match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${lines.join('\r\n')}\r\n`);
}

/** `Name <address>`, with the name encoded or in quotes if it needs that. */
function senderHeader(from: string): string {
  const [, name = '', address = from] = /^(.*?)\s*<([^>]*)>$/.exec(from) ?? [];
  if (name === '') return address;
  const isPlain = /^[\w ]+$/.test(name);
  const isAscii = /^[\x20-\x7e]+$/.test(name);
  return `${isPlain ? name : isAscii ? `"${name}"` : encodedWords(name)} <${address}>`;
}

/** A text as it may be in a header: as it is if it is short printable ASCII, else as encoded words. */
function encodedWords(text: string): string {
  if (/^[\x20-\x7e]{0,60}$/.test(text) && !text.includes('=?')) return text;
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((part) => `=?utf-8?B?${Buffer.from(part).toString('base64')}?=`).join('\r\n ');
}

function bodyOf(ruleName: string, { alerts, more }: AlertMessage): string {
  const items = alerts.map(({ title, text, diff, link }) =>
    [title, '', text, ...(diff.length > 0 ? ['', ...diff] : []), '', link].join('\r\n'),
  );
  const rest = more > 0 ? [`And ${more} more, which are listed in the archive.`] : [];
  const separator = `\r\n\r\n${'-'.repeat(40)}\r\n\r\n`;
  const sentBy = `Sent by the alert “${ruleName.replace(/\s+/g, ' ')}” of Strongroom.`;
  return `${[...items, ...rest].join(separator)}\r\n\r\n-- \r\n${sentBy}\r\n`;
}

export interface Mail {
  from: string;
  to: string;
  text: Buffer;
}

export interface MailServer {
  smtp: Smtp;
  password: string | undefined;
  timeoutMs: number;
}

/** The longest text of a server that is shown. */
const MAX_REPLY_CHARACTERS = 300;
const MAX_RESPONSE_BYTES = 65_536;

/**
 * Hands a message to a mail server. `beforeText` is called once the server accepted sender and recipient and waits for the
 * text: from then on it is unknown whether the message arrives, until the server answers.
 */
export async function sendMail(
  { smtp, password, timeoutMs }: MailServer,
  { from, to, text }: Mail,
  { beforeText, signal }: { beforeText: () => Promise<void>; signal: AbortSignal },
): Promise<Outcome> {
  const connection = new SMTPConnection({
    host: smtp.host,
    port: smtp.port,
    secure: smtp.tls === 'tls',
    requireTLS: smtp.tls === 'starttls',
    ignoreTLS: smtp.tls === 'none',
    ...(isIP(smtp.host) === 0 && { servername: smtp.host }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    socketCloseTimeout: 0,
    maxResponseSize: MAX_RESPONSE_BYTES,
    logger: false,
  });
  let isTextSent = false;
  const body = Readable.from(
    (async function* () {
      await beforeText();
      signal.throwIfAborted();
      isTextSent = true;
      yield text;
    })(),
    { objectMode: false },
  );
  try {
    await converse(connection, signal, async (step) => {
      await step((done) => connection.connect(done));
      const { user } = smtp;
      if (user !== undefined && password !== undefined)
        await step((done) =>
          connection.login({ user, pass: password, credentials: { user, pass: password } }, done),
        );
      const envelope = { from: addressOf(from), to: [to], size: text.length };
      await step((done) => connection.send(envelope, body, done));
    });
    return { kind: 'sent' };
  } catch (error) {
    return outcomeOfError(error, isTextSent);
  } finally {
    body.destroy();
    connection.close();
  }
}

type Done = (error?: Error | null) => void;
type Step = (start: (done: Done) => void) => Promise<void>;

/** Runs the steps of a conversation. An error of the connection between two steps ends it, too. */
function converse(
  connection: SMTPConnection,
  signal: AbortSignal,
  work: (step: Step) => Promise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new Error('The node is shutting down.'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    connection.on('error', reject);
    connection.once('end', () => reject(new Error('The mail server closed the connection.')));
    const step: Step = (start) =>
      new Promise((done, failed) => start((error) => (error ? failed(error) : done())));
    work(step)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}

function outcomeOfError(error: unknown, isTextSent: boolean): Outcome {
  const { responseCode, code, message } = error as { responseCode?: number; code?: string; message: string };
  const words = `The mail server: ${plainLine(message, MAX_REPLY_CHARACTERS)}`;
  // The server's answer decides the outcome. A refused login, whatever its code, may be corrected in the settings.
  const isOfLogin = code === 'EAUTH' || responseCode === 530;
  if (responseCode !== undefined && responseCode >= 500 && !isOfLogin)
    return { kind: 'refused', error: words };
  if (responseCode !== undefined || !isTextSent) return { kind: 'retry', error: words };
  return {
    kind: 'interrupted',
    error: `${words} It may have arrived, so it is not sent again automatically.`,
  };
}

function addressOf(sender: string): string {
  return /<([^>]*)>$/.exec(sender)?.[1] ?? sender;
}
