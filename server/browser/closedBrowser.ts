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

/** One start of the browser. */
interface Run {
  browser: Promise<RunningBrowser>;
  /** The pages that it drew or draws. */
  pages: number;
  /** The pages that it draws now. */
  drawing: number;
  idle?: NodeJS.Timeout;
  ended?: Promise<void>;
}

/** Starts a browser when a page is to be drawn, and ends it when none is any more. */
export class ClosedBrowser {
  readonly #start: StartBrowser;
  readonly #log: Log;
  readonly #maxPages: number;
  /** The browser that draws the next page. */
  #current: Run | undefined;
  /** All that were not ended: one that was replaced first draws the pages that it has begun. */
  readonly #runs = new Set<Run>();
  #isClosed = false;

  /** @param maxPages a browser is replaced after this many pages */
  constructor(start: StartBrowser, log: Log, maxPages = MAX_PAGES) {
    this.#start = start;
    this.#log = log;
    this.#maxPages = maxPages;
  }

  /**
   * Draws a page.
   *
   * @throws NoBrowserError; PageCrashedError; BrowserTimeoutError if the page does not respond even when its time is over;
   * PageTooLargeError; the signal's reason.
   */
  async draw(options: DrawOptions): Promise<DrawnByBrowser> {
    if (this.#isClosed) throw new NoBrowserError();
    const run = this.#runForPage();
    clearTimeout(run.idle);
    run.drawing += 1;
    run.pages += 1;
    try {
      const running = await run.browser;
      const page = await drawPage(running, options);
      const { name, version, environment } = running;
      return { ...page, browser: { name, version }, environment };
    } catch (error) {
      // What hangs or crashed in it goes with the browser, once the other pages that it draws are drawn.
      this.#retire(run);
      throw error;
    } finally {
      run.drawing -= 1;
      if (run.drawing === 0)
        if (run !== this.#current || run.pages >= this.#maxPages || this.#isClosed) await this.#end(run);
        else run.idle = after(IDLE_MS, () => this.#end(run));
    }
  }

  /** Ends the browser, also while it draws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#runs].map((run) => this.#end(run)));
  }

  #runForPage(): Run {
    if (this.#current && this.#current.pages < this.#maxPages) return this.#current;
    const run: Run = { browser: this.#started(), pages: 0, drawing: 0 };
    this.#current = run;
    this.#runs.add(run);
    // A browser that ended by itself is replaced.
    inBackground(async () => {
      const running = await run.browser.catch(() => undefined);
      await running?.connection.gone;
      await this.#end(run);
    });
    return run;
  }

  async #started(): Promise<RunningBrowser> {
    try {
      const running = await this.#start();
      if (running === null) throw new NoBrowserError();
      if (isUnsandboxed)
        this.#log.warn(
          {},
          'The node runs as root, so the browser that draws pages runs without its sandbox.',
        );
      return running;
    } catch (error) {
      if (error instanceof NoBrowserError) throw error;
      this.#log.error({ error }, 'The browser that draws pages did not start');
      throw new NoBrowserError(error);
    }
  }

  #retire(run: Run): void {
    if (this.#current === run) this.#current = undefined;
  }

  #end(run: Run): Promise<void> {
    this.#retire(run);
    clearTimeout(run.idle);
    run.ended ??= this.#endBrowser(run);
    return run.ended;
  }

  async #endBrowser(run: Run): Promise<void> {
    const browser = await run.browser.catch(() => undefined);
    await browser?.close();
    this.#runs.delete(run);
  }
}
