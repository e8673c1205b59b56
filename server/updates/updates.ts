import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { releaseFileSchema, type Updates, versionSchema } from '../../shared/node/settings.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { instantSchema } from '../../shared/values/text.ts';
import { OutgoingError, type Post } from '../ledger/outgoing.ts';
import { after, every, inBackground } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import { isMissing, writeFileDurably } from '../store/files.ts';
import type { SettingsStore } from '../store/settings.ts';
import type { Store } from '../store/store.ts';

const MS_PER_DAY = 86_400_000;
/** How often the node looks whether a day has passed. */
const POLL_INTERVAL_MS = 3_600_000;
/** A node that starts has other things to do first. */
const FIRST_MS = 60_000;
const MAX_BYTES = 65_536;

/** The last answer, in `update-check` of the data folder: a node that is restarted often must not ask more often. */
const checkSchema = z.object({
  /** The value of the setting at that time. */
  asked: z.string(),
  checked_at: instantSchema,
  newest: versionSchema.nullable(),
  url: z.string().nullable(),
  error: z.string().nullable(),
});
type Check = z.output<typeof checkSchema>;

interface UpdateServices {
  store: Pick<Store, 'folder' | 'clock'>;
  settings: SettingsStore;
  post: Post;
  log: Log;
  version: string;
}

/** Compares the version of this node with a file at the address in the settings, at most once a day. Installs nothing. */
export class UpdateCheck {
  readonly #services: UpdateServices;
  readonly #file: string;
  readonly #closing = new AbortController();
  #timers: NodeJS.Timeout[] = [];
  #running: Promise<void> | undefined;

  constructor(services: UpdateServices) {
    this.#services = services;
    this.#file = join(services.store.folder, 'update-check');
  }

  start(): void {
    const { log } = this.#services;
    const failed = (error: unknown) => log.warn({ error }, 'The check for updates failed.');
    this.#timers = [
      after(FIRST_MS, () => this.checkIfDue(), failed).unref(),
      every(POLL_INTERVAL_MS, () => this.checkIfDue(), failed).unref(),
    ];
    this.#services.settings.onChange(() => inBackground(() => this.checkIfDue(), failed));
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#closing.abort();
    await this.#running?.catch(() => undefined);
  }

  async read(): Promise<Updates> {
    const { settings, version } = this.#services;
    const check = await this.#lastCheck(settings.current.update_url);
    const { newest = null, url = null, checked_at = null, error = null } = check ?? {};
    return { version, newest, url, checked_at, error, is_newer: newest !== null && isNewer(newest, version) };
  }

  /** Fetches the file, unless there is no address or it was asked within a day. */
  checkIfDue(): Promise<void> {
    this.#running ??= this.#checkIfDue().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #checkIfDue(): Promise<void> {
    const { store, settings } = this.#services;
    const asked = settings.current.update_url;
    if (asked === '' || this.#closing.signal.aborted) return;
    const age = store.clock.now() - Date.parse((await this.#lastCheck(asked))?.checked_at ?? '');
    if (age >= 0 && age < MS_PER_DAY) return;
    const checked_at = instantOf(store.clock.now());
    const found = await this.#fetch(asked);
    await writeFileDurably(this.#file, JSON.stringify({ asked, checked_at, ...found }), 0o600);
  }

  async #fetch(url: string): Promise<Pick<Check, 'newest' | 'url' | 'error'>> {
    try {
      const { status, body } = await this.#services.post({
        url,
        accept: 'application/json',
        maxBytes: MAX_BYTES,
        signal: this.#closing.signal,
      });
      if (status !== 200) return failure(`The server answered ${status}.`);
      const file = releaseFileSchema.safeParse(parseJson(body.toString('utf8')));
      if (!file.success) return failure('The file does not name a version.');
      return { newest: file.data.version, url: file.data.url ?? null, error: null };
    } catch (error) {
      if (error instanceof OutgoingError) return failure(error.message);
      throw error;
    }
  }

  /** The last check of this address. A file that cannot be read is as if there were none. */
  async #lastCheck(asked: string): Promise<Check | undefined> {
    try {
      const check = checkSchema.safeParse(parseJson(await readFile(this.#file, 'utf8')));
      return check.success && asked !== '' && check.data.asked === asked ? check.data : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

function failure(error: string): Pick<Check, 'newest' | 'url' | 'error'> {
  return { newest: null, url: null, error };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Compares two versions of three numbers; what follows them, as in `1.2.0-beta`, does not count. */
function isNewer(version: string, than: string): boolean {
  const [left, right] = [numbersOf(version), numbersOf(than)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at !== -1 && (left[at] ?? 0) > (right[at] ?? 0);
}

function numbersOf(version: string): number[] {
  return version.split('-', 1).flatMap((numbers) => numbers.split('.').map(Number));
}
