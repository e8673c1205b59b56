import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to a webhook. */
export interface Call {
  id: string;
  timestamp: string;
  signature: string;
  body: string;
  contentType: string;
}

/** Answers one call: a status, or a function that answers itself or never. */
export type Answer = number | ((response: ServerResponse) => void);

/** The secret that the tests give to webhooks. */
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes ....').toString('base64')}`;

const opened: WebhookReceiver[] = [];

/** A webhook on loopback. It answers by its script; the last answer is given to all further calls. */
export class WebhookReceiver {
  readonly #server: Server;
  readonly calls: Call[] = [];
  answers: Answer[];

  private constructor(answers: Answer[]) {
    this.answers = answers;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async open(...answers: Answer[]): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(answers.length > 0 ? answers : [204]);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    opened.push(receiver);
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** The target of a rule that names this webhook. */
  get target() {
    return { kind: 'webhook', url: this.url, secret: SECRET, allow_private: true };
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const header = (name: string) => String(request.headers[name] ?? '');
    this.calls.push({
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      contentType: header('content-type'),
      body: Buffer.concat(chunks).toString(),
    });
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (typeof answer === 'function') answer(response);
    else response.writeHead(answer ?? 204).end();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** For `afterEach`. */
export function closeReceivers(): void {
  for (const receiver of opened.splice(0)) receiver.close();
}

/** Whether a call is signed as Standard Webhooks says. */
export function isSigned({ id, timestamp, signature, body }: Call, secret = SECRET): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return signature.split(' ').includes(`v1,${mac}`);
}
