import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { RequestedSettings, Settings, SettingsChange } from '../../shared/node/settings.ts';
import { isMissing, writeFileDurably } from '../store/files.ts';

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
  readonly #oneRuleAtATime = pLimit(1);

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
    return this.#change((secrets) => replaceSecrets(secrets, rule, byUrl));
  }

  /**
   * Stores the secrets of a rule's webhooks around the write of the rule, so that it has its secrets at any time: its old
   * ones are deleted only after the write. If that fails, they are as before. One rule is written at a time, so that the
   * secrets are those of the write that came last.
   */
  withWebhookSecrets<Written>(
    rule: string,
    byUrl: ReadonlyMap<string, string>,
    write: () => Promise<Written>,
  ): Promise<Written> {
    return this.#oneRuleAtATime(async () => {
      const before = webhooksOf(await this.#read(), rule);
      await this.setWebhookSecrets(rule, new Map([...before, ...byUrl]));
      let written: Written;
      try {
        written = await write();
      } catch (error) {
        await this.setWebhookSecrets(rule, before);
        throw error;
      }
      await this.setWebhookSecrets(rule, byUrl);
      return written;
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

function webhooksOf({ webhooks }: Secrets, rule: string): Map<string, string> {
  const own = Object.entries(webhooks).filter(([name]) => name.startsWith(`${rule} `));
  return new Map(own.map(([name, secret]) => [name.slice(rule.length + 1), secret]));
}

function replaceSecrets({ webhooks }: Secrets, rule: string, byUrl: ReadonlyMap<string, string>): void {
  for (const name of Object.keys(webhooks)) if (name.startsWith(`${rule} `)) delete webhooks[name];
  for (const [url, secret] of byUrl) webhooks[nameOf(rule, url)] = secret;
}

const nameOf = (rule: string, url: string) => `${rule} ${url}`;

/**
 * Changes settings. The password of the mail server is kept apart from them. A kept password never goes to another server:
 * it is forgotten if the host or the user changes without a new one.
 */
export async function changeSettingsWithMail(
  { smtp, ...others }: RequestedSettings,
  {
    current,
    secrets,
    change,
  }: {
    current: () => Settings;
    secrets: AlertSecrets;
    change: (change: SettingsChange) => Promise<Settings>;
  },
): Promise<Settings> {
  if (smtp === undefined) return change(others);
  if (smtp === null) {
    const changed = await change({ ...others, smtp: null });
    await secrets.setSmtpPassword(undefined);
    return changed;
  }
  const { password: given, has_password: _shown, ...server } = smtp;
  const before = current().smtp;
  const isSame = before?.host === server.host && before.user === server.user && server.user !== undefined;
  const password = given ?? (isSame ? await secrets.smtpPassword() : undefined);
  // The old server must not get the new password, nor the new one the old: without a server nothing is sent.
  if (before !== null && !(isSame && given === undefined)) await change({ smtp: null });
  await secrets.setSmtpPassword(password);
  return change({ ...others, smtp: { ...server, has_password: password !== undefined } });
}
