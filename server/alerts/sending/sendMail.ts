import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Smtp } from '../../../shared/alerts/smtp.ts';
import { plainLine } from '../../collection/diff/summarize.ts';
import type { Outcome } from './outcome.ts';

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
    return outcomeOf(error, isTextSent);
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

function outcomeOf(error: unknown, isTextSent: boolean): Outcome {
  const { responseCode, message } = error as { responseCode?: number; message: string };
  const words = `The mail server: ${plainLine(message, MAX_REPLY_CHARACTERS)}`;
  // The server's answer decides the outcome. A refused login may be corrected in the settings.
  if (responseCode !== undefined && responseCode >= 500 && responseCode !== 530 && responseCode !== 535)
    return { kind: 'refused', error: words };
  if (responseCode !== undefined || !isTextSent) return { kind: 'retry', error: words };
  return {
    kind: 'interrupted',
    error: `${words} It may have arrived, so it is not sent again by itself.`,
  };
}

function addressOf(sender: string): string {
  return /<([^>]*)>$/.exec(sender)?.[1] ?? sender;
}
