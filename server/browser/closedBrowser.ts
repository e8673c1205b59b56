import { after, inBackground } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import {
  findBrowser,
  isUnsandboxed,
  type RunningBrowser,
  type StartBrowser,
  startChromium,
} from './chromium.ts';
import { type DrawnPage, type DrawOptions, drawPage } from './drawPage.ts';
import type { BrowserConnection } from './protocol.ts';

/** There is no browser on this machine, or it does not start. */
export class NoBrowserError extends Error {
  constructor(cause?: unknown) {
    super('There is no browser that could draw the page.', { cause });
    this.name = 'NoBrowserError';
  }
}

/** A page, and the browser that drew it. */
export interface DrawnByBrowser extends DrawnPage {
  browser: { name: string; version: string };
  environment: string;
}

/** A browser that has drawn nothing for this long is ended. */
const IDLE_MS = 10_000;
/** A browser is replaced after this many pages, so that what a page left in it does not add up. */
const MAX_PAGES = 200;

/** Returns how Chromium is started, with its profiles in this folder. */
export function chromiumIn(profiles: string): StartBrowser {
  return async () => {
    const executable = await findBrowser();
    return executable === null ? null : startChromium(executable, profiles);
  };
}

/** Starts a browser when a page is to be drawn, and ends it when none is any more. */
export class ClosedBrowser {
  readonly #start: StartBrowser;
  readonly #log: Log;
  #running: Promise<RunningBrowser> | undefined;
  #pages = 0;
  #drawing = 0;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(start: StartBrowser, log: Log) {
    this.#start = start;
    this.#log = log;
  }

  /**
   * Draws a page.
   *
   * @throws NoBrowserError; PageCrashedError; BrowserTimeoutError if the page does not respond even when its time is over;
   * PageTooLargeError; the signal's reason.
   */
  async draw(options: DrawOptions): Promise<DrawnByBrowser> {
    clearTimeout(this.#idle);
    this.#drawing += 1;
    this.#pages += 1;
    let running: RunningBrowser | undefined;
    try {
      running = await this.#browser();
      const page = await drawPage(running, options);
      const { name, version, environment } = running;
      return { ...page, browser: { name, version }, environment };
    } catch (error) {
      // What hangs or crashed in it goes with the browser, unless it draws other pages.
      if (running && this.#drawing === 1) await this.#end();
      throw error;
    } finally {
      this.#drawing -= 1;
      if (this.#drawing === 0)
        if (this.#pages >= MAX_PAGES || this.#isClosed) await this.#end();
        else this.#idle = after(IDLE_MS, () => this.#end());
    }
  }

  /** Ends the browser, also while it draws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  #browser(): Promise<RunningBrowser> {
    if (this.#isClosed) return Promise.reject(new NoBrowserError());
    this.#running ??= this.#started();
    return this.#running;
  }

  async #started(): Promise<RunningBrowser> {
    try {
      const running = await this.#start();
      if (running === null) throw new NoBrowserError();
      const { connection } = running;
      if (isUnsandboxed)
        this.#log.warn(
          {},
          'The node runs as root, so the browser that draws pages runs without its sandbox.',
        );
      // A browser that ended by itself is replaced.
      inBackground(() => connection.gone.then(() => this.#forget(connection)));
      return running;
    } catch (error) {
      this.#running = undefined;
      if (error instanceof NoBrowserError) throw error;
      this.#log.error({ error }, 'The browser that draws pages did not start');
      throw new NoBrowserError(error);
    }
  }

  async #forget(gone: BrowserConnection): Promise<void> {
    const current = await this.#running?.catch(() => undefined);
    if (current?.connection === gone) await this.#end();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    this.#pages = 0;
    const browser = await running?.catch(() => undefined);
    await browser?.close();
  }
}
