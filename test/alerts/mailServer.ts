import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A message that was received. */
export interface ReceivedMail {
  from: string;
  to: string[];
  user: string | undefined;
  isEncrypted: boolean;
  /** As it was sent, headers first. */
  text: string;
}

const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, '../support/fixtures', name), 'utf8');

/** How the server answers. */
export interface MailScript {
  /** Called with each message before it is acknowledged; throws to refuse it. */
  onText?: (mail: ReceivedMail, count: number) => Promise<void> | void;
  /** Called with each recipient; throws to refuse it. */
  onRecipient?: (address: string) => void;
  options?: SMTPServerOptions;
}

export const USER = 'keeper';
export const PASSWORD = 'a password nobody shows';

const opened: MailServer[] = [];

/** A real SMTP server on loopback. It takes one user, and keeps every message. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  readonly #server: SMTPServer;
  script: MailScript;

  private constructor(script: MailScript) {
    this.script = script;
    this.#server = new SMTPServer({
      key: fixture('loopback.key.pem'),
      cert: fixture('loopback.cert.pem'),
      authOptional: true,
      allowInsecureAuth: true,
      closeTimeout: 100,
      // The greeting would wait for the name servers of the machine.
      disableReverseLookup: true,
      onAuth: ({ username, password }, _session, done) =>
        username === USER && password === PASSWORD
          ? done(null, { user: username })
          : done(Object.assign(new Error('Wrong password'), { responseCode: 535 })),
      onRcptTo: ({ address }, _session, done) => {
        try {
          this.script.onRecipient?.(address);
          done();
        } catch (error) {
          done(error as Error);
        }
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          const mail: ReceivedMail = {
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            user: session.user,
            isEncrypted: session.secure,
            text: Buffer.concat(chunks).toString(),
          };
          this.mails.push(mail);
          void this.#acknowledge(mail, done);
        });
      },
      ...script.options,
    });
    // A client that gives up is part of the tests.
    this.#server.on('error', () => {});
  }

  async #acknowledge(mail: ReceivedMail, done: (error?: Error) => void): Promise<void> {
    let refusal: Error | undefined;
    try {
      await this.script.onText?.(mail, this.mails.length);
    } catch (error) {
      refusal = error as Error;
    }
    done(refusal);
  }

  static async open(script: MailScript = {}): Promise<MailServer> {
    const server = new MailServer(script);
    const listening = server.#server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    opened.push(server);
    return server;
  }

  /** The setting `smtp` for this server. */
  settings(more: object = {}): object {
    const { port } = this.#server.server.address() as AddressInfo;
    return { host: '127.0.0.1', port, tls: 'none', from: 'Archive <archive@example.org>', ...more };
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** For `afterEach`. */
export async function closeMailServers(): Promise<void> {
  for (const server of opened.splice(0)) await server.close();
}

/** Returns the text of a mail's body, decoded. */
export function bodyOf({ text }: ReceivedMail): string {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
