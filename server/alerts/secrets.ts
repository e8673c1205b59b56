import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import { isMissing } from '../store/blobs/fileErrors.ts';

const schema = z.object({
  smtp_password: z.string().optional(),
  /** By the rule's id and the webhook's address. */
  webhooks: z.record(z.string(), z.string()).default({}),
});
type Secrets = z.output<typeof schema>;

/** The secrets of alerts, in a file of the data folder that only its owner can read. They are never shown or logged. */
export class AlertSecrets {
  readonly #file: string;
  readonly #oneAtATime = pLimit(1);

  constructor(folder: string) {
    this.#file = join(folder, 'alert-secrets');
  }

  async smtpPassword(): Promise<string | undefined> {
    return (await this.#read()).smtp_password;
  }

  setSmtpPassword(password: string | undefined): Promise<void> {
    return this.#change((secrets) => {
      if (password === undefined) delete secrets.smtp_password;
      else secrets.smtp_password = password;
    });
  }

  async webhookSecret(rule: string, url: string): Promise<string | undefined> {
    return (await this.#read()).webhooks[nameOf(rule, url)];
  }

  /** Stores the secrets of a rule's webhooks, by address, and deletes its other secrets. */
  setWebhookSecrets(rule: string, byUrl: ReadonlyMap<string, string>): Promise<void> {
    return this.#change((secrets) => {
      for (const name of Object.keys(secrets.webhooks))
        if (name.startsWith(`${rule} `)) delete secrets.webhooks[name];
      for (const [url, secret] of byUrl) secrets.webhooks[nameOf(rule, url)] = secret;
    });
  }

  async #read(): Promise<Secrets> {
    try {
      return schema.parse(JSON.parse(await readFile(this.#file, 'utf8')));
    } catch (error) {
      if (isMissing(error)) return { webhooks: {} };
      throw error;
    }
  }

  #change(change: (secrets: Secrets) => void): Promise<void> {
    return this.#oneAtATime(async () => {
      const secrets = await this.#read();
      const before = JSON.stringify(secrets);
      change(secrets);
      const after = JSON.stringify(secrets);
      if (after !== before) await writeFileDurably(this.#file, `${after}\n`, 0o600);
    });
  }
}

const nameOf = (rule: string, url: string) => `${rule} ${url}`;
