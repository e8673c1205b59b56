import type { CutReason, Viewport } from '../../shared/collection/page.ts';
import { guarded, reportUncaught } from '../runtime/background.ts';
import { untilAborted } from '../runtime/concurrency.ts';
import { type BrowserLogin, cookieCommands, storageCommands } from './browserLogin.ts';
import type { RunningBrowser } from './chromium.ts';
import { installClock } from './inPage/clock.js';
import { followRefresh } from './inPage/refresh.js';
import { standStill } from './inPage/still.js';
import {
  BrowserGoneError,
  BrowserTimeoutError,
  ignoringLateErrors,
  type Params,
  ProtocolError,
  type ProtocolEvent,
  withTimeout,
} from './protocol.ts';
import { type Frame, Frames, readDocuments, type Session, stopBuiltIns, takePicture } from './readPage.ts';
import { Refreshes } from './refreshes.ts';
import { type PageGate, RequestGate } from './requestGate.ts';

export interface DrawOptions {
  url: string;
  gate: PageGate;
  /** What the page finds in its browser of an earlier visit. */
  login?: BrowserLogin | undefined;
  viewport: Viewport;
  /** Where the clock of the page starts, in milliseconds since the epoch. */
  startsAt: number;
  /** 16 hex digits. */
  seed: string;
  /** The time for loading and scrolling. Reading the page may take some seconds more. */
  timeoutMs: number;
  maxRequests: number;
  maxBytes: number;
  signal: AbortSignal;
}

/** A page as it was drawn. */
export interface DrawnPage {
  url: string;
  title: string;
  outcome: 'complete' | 'cut';
  reason: CutReason | null;
  document: string;
  text: string;
  picture: Buffer;
}

/** The page or its browser crashed. */
export class PageCrashedError extends Error {
  constructor(cause?: unknown) {
    super('The page crashed.', { cause });
    this.name = 'PageCrashedError';
  }
}

/** The page is too large to be read. */
export class PageTooLargeError extends Error {
  constructor() {
    super('The page is too large.');
    this.name = 'PageTooLargeError';
  }
}

/** How often a page is scrolled by one screen. */
const MAX_SCREENS = 20;
/** How long reading a page may take after it was loaded or its time was over. */
const READ_MS = 15_000;
/** The clock of the page is advanced in steps. */
const STEP_MS = 100;
/** A page is quiet if it asked for nothing for this long, by its clock. */
const QUIET_MS = 500;
/** Timers up to here run in any case; the clock of a page that is never quiet stops at the end. */
const MIN_PAGE_MS = 2_000;
const MAX_PAGE_MS = 5_000;

/** What a person would have set, the same on every machine. */
const MEDIA = [
  { name: 'prefers-reduced-motion', value: 'reduce' },
  { name: 'prefers-color-scheme', value: 'light' },
  { name: 'forced-colors', value: 'none' },
];

const TICK = "globalThis[Symbol.for('strongroom.tick')]";

/** Draws a page in a context of its own, which is deleted afterwards. */
export async function drawPage(browser: RunningBrowser, options: DrawOptions): Promise<DrawnPage> {
  options.signal.throwIfAborted();
  const { connection } = browser;
  const { browserContextId } = await withTimeout(
    connection.send<{ browserContextId: string }>('Target.createBrowserContext', { disposeOnDetach: true }),
    READ_MS,
  );
  const drawing = new Drawing(browser, options, browserContextId);
  try {
    return await untilAborted(drawing.run(), options.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof BrowserGoneError || drawing.isCrashed) throw new PageCrashedError(error);
    throw error;
  } finally {
    drawing.stop();
    await withTimeout(connection.send('Target.disposeBrowserContext', { browserContextId }), READ_MS).catch(
      (error: unknown) => {
        // A browser that does not respond any more is ended by its owner.
        if (!(error instanceof BrowserGoneError || error instanceof BrowserTimeoutError)) throw error;
      },
    );
  }
}

class Drawing {
  readonly #browser: RunningBrowser;
  readonly #options: DrawOptions;
  readonly #contextId: string;
  readonly #sessions = new Map<string, Session>();
  readonly #frames: Frames;
  readonly #refreshes: Refreshes;
  readonly #gate: RequestGate;
  readonly #ended = new AbortController();
  #stopListening: () => void = () => {};
  #target = '';
  #main = '';
  #loaded = false;
  /** The clock of the page, in milliseconds since its start. */
  #clock = 0;
  #deadline = 0;
  isCrashed = false;
  #onCrash: (error: Error) => void = () => {};
  /** Rejects when the page crashes, so that nothing waits for it any longer. */
  readonly #crash = new Promise<never>((_, reject) => {
    this.#onCrash = reject;
  });

  constructor(browser: RunningBrowser, options: DrawOptions, contextId: string) {
    // Who waits gets the error.
    this.#crash.catch(() => {});
    this.#browser = browser;
    this.#options = options;
    this.#contextId = contextId;
    this.#frames = new Frames(browser.connection, this.#sessions);
    this.#refreshes = new Refreshes(this.#frames, MAX_PAGE_MS);
    this.#gate = new RequestGate(
      browser.connection,
      options,
      AbortSignal.any([options.signal, this.#ended.signal]),
    );
  }

  async run(): Promise<DrawnPage> {
    const { connection } = this.#browser;
    const { viewport, url, timeoutMs } = this.#options;
    this.#deadline = performance.now() + timeoutMs;
    this.#stopListening = connection.listen(guarded((event) => this.#onEvent(event), reportUncaught));
    const { targetId } = await this.#bounded(
      connection.send<{ targetId: string }>('Target.createTarget', {
        url: 'about:blank',
        browserContextId: this.#contextId,
        width: viewport.width,
        height: viewport.height,
      }),
    );
    this.#target = targetId;
    this.#gate.mainFrame = targetId;
    const { sessionId } = await this.#bounded(
      connection.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true }),
    );
    this.#main = sessionId;
    await this.#bounded(this.#setUp({ id: sessionId, type: 'page', target: targetId, contexts: new Map() }));
    await this.#bounded(
      Promise.all(
        cookieCommands(this.#options.login).map(([method, params]) =>
          ignoringLateErrors(this.#send(method, params)),
        ),
      ),
    );
    let reason: CutReason | null = null;
    try {
      await this.#bounded(this.#send('Page.navigate', { url }));
      await this.#settle({ minMs: MIN_PAGE_MS, maxMs: MAX_PAGE_MS, quietMs: QUIET_MS });
      reason = await this.#scroll();
    } catch (error) {
      if (!(error instanceof BrowserTimeoutError)) throw error;
      reason = 'time';
      // What holds the page up is ended, so that what is there can be read.
      await Promise.allSettled([...this.#sessions.values()].map(({ id }) => this.#terminate(id)));
    }
    this.#gate.close();
    return withTimeout(Promise.race([this.#read(this.#gate.cutReason ?? reason), this.#crash]), READ_MS);
  }

  /** The main frame. */
  get #page(): Frame {
    return { id: this.#target, session: this.#main, parent: null };
  }

  stop(): void {
    this.#ended.abort(new BrowserTimeoutError());
    this.#stopListening();
  }

  #send<Result = Params>(method: string, params?: Params, sessionId = this.#main): Promise<Result> {
    return this.#browser.connection.send<Result>(method, params, sessionId);
  }

  /** @throws BrowserTimeoutError if the time of the page is over; the signal's reason */
  async #bounded<Result>(promise: Promise<Result>): Promise<Result> {
    // The promise is waited for in any case, so that its error has a receiver.
    const left = Math.max(1, this.#deadline - performance.now());
    const result = await withTimeout(Promise.race([promise, this.#crash]), left);
    this.#options.signal.throwIfAborted();
    return result;
  }

  async #terminate(sessionId: string): Promise<void> {
    await withTimeout(this.#send('Runtime.terminateExecution', {}, sessionId), 1_000);
    if (sessionId === this.#main) await withTimeout(this.#send('Page.stopLoading'), 1_000);
  }

  /** Closes what a page could open, before it runs. */
  async #setUp(session: Session): Promise<void> {
    this.#sessions.set(session.id, session);
    const { startsAt, seed, viewport } = this.#options;
    const { userAgent } = this.#browser;
    const clock = `(${String(installClock)})(${startsAt}, ${JSON.stringify(seed)})`;
    const isFrame = session.type === 'page' || session.type === 'iframe';
    const commands: [string, Params][] = [
      ['Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }],
      ['Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }],
    ];
    if (isFrame)
      commands.push(
        ['Fetch.enable', { patterns: [{ urlPattern: '*', requestStage: 'Request' }] }],
        ['Network.setBypassServiceWorker', { bypass: true }],
        ['Page.enable', {}],
        ['Runtime.enable', {}],
        ['Page.addScriptToEvaluateOnNewDocument', { source: clock, runImmediately: true }],
        ...storageCommands(this.#options.login),
        ['Page.setInterceptFileChooserDialog', { enabled: true }],
        ['Emulation.setEmulatedMedia', { features: MEDIA }],
      );
    commands.push(['Network.setUserAgentOverride', { userAgent }]);
    if (session.type === 'page')
      commands.push(
        [
          'Emulation.setDeviceMetricsOverride',
          {
            width: viewport.width,
            height: viewport.height,
            deviceScaleFactor: viewport.scale,
            mobile: false,
            // Pages take a small screen for that of a telephone.
            screenWidth: viewport.width,
            screenHeight: viewport.height,
          },
        ],
        ['Emulation.setFocusEmulationEnabled', { enabled: true }],
      );
    if (isFrame)
      commands.push(
        ['Emulation.setTimezoneOverride', { timezoneId: 'UTC' }],
        ['Emulation.setLocaleOverride', { locale: 'en-US' }],
      );
    // Sent at once: the browser carries them out in order, and one that fails says so.
    const sent = commands.map(([method, params]) => this.#send(method, params, session.id));
    if (!isFrame) sent.push(this.#send('Runtime.evaluate', { expression: clock }, session.id));
    const results = await Promise.allSettled(sent);
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') continue;
      // Workers have fewer commands; a second frame of a process has its time zone and locale already.
      const isOptional = !isFrame || commands[index]?.[0].startsWith('Emulation.');
      if (!(result.reason instanceof ProtocolError && isOptional)) throw result.reason;
    }
    if (session.type === 'page')
      await this.#browser.connection.send('Browser.setDownloadBehavior', {
        behavior: 'deny',
        browserContextId: this.#contextId,
      });
    await this.#send('Runtime.runIfWaitingForDebugger', {}, session.id);
  }

  #onEvent({ method, params, sessionId }: ProtocolEvent): unknown {
    const session = this.#sessions.get(sessionId);
    if (!session) return undefined;
    if (method.startsWith('Fetch.') || method.startsWith('Network.'))
      return this.#gate.onEvent({ method, params, sessionId });
    this.#gate.onFrameEvent({ method, params });
    switch (method) {
      case 'Target.attachedToTarget':
        return this.#onAttached(params);
      case 'Target.detachedFromTarget':
        return this.#sessions.delete(String(params.sessionId));
      case 'Runtime.executionContextCreated': {
        const { id, auxData } = params.context as {
          id: number;
          auxData?: { isDefault?: boolean; frameId?: string };
        };
        if (auxData?.isDefault && auxData.frameId) session.contexts.set(id, auxData.frameId);
        return undefined;
      }
      case 'Runtime.executionContextDestroyed':
        return session.contexts.delete(Number(params.executionContextId));
      case 'Runtime.executionContextsCleared':
        return session.contexts.clear();
      // A navigation that leads nowhere ends the loading of a page without its load event.
      case 'Page.loadEventFired':
      case 'Page.frameStoppedLoading':
        if (sessionId === this.#main && (params.frameId ?? this.#target) === this.#target)
          this.#loaded = true;
        return undefined;
      case 'Page.javascriptDialogOpening':
        return ignoringLateErrors(
          this.#send('Page.handleJavaScriptDialog', { accept: params.type === 'beforeunload' }, sessionId),
        );
      case 'Inspector.targetCrashed':
        this.isCrashed = true;
        this.#onCrash(new PageCrashedError());
        return undefined;
      default:
        return this.#refreshes.onEvent({ method, params, sessionId }, this.#clock);
    }
  }

  async #onAttached(params: Params): Promise<void> {
    const { sessionId, targetInfo } = params as {
      sessionId: string;
      targetInfo: { type: string; targetId: string };
    };
    const isPart = targetInfo.type === 'iframe' || targetInfo.type === 'worker';
    await ignoringLateErrors(
      isPart
        ? this.#setUp({
            id: sessionId,
            type: targetInfo.type,
            target: targetInfo.targetId,
            contexts: new Map(),
          })
        : this.#browser.connection.send('Target.closeTarget', { targetId: targetInfo.targetId }),
    );
  }

  /**
   * Advances the clock of the page in steps, each once nothing is being loaded any more, until the page asked for nothing
   * for `quietMs` by its clock and waits for no refresh, or `maxMs` are over. A document that a refresh leads to has
   * `minMs` of its own.
   */
  async #settle({ minMs, maxMs, quietMs }: { minMs: number; maxMs: number; quietMs: number }): Promise<void> {
    let [quiet, min, max] = [0, this.#clock + minMs, this.#clock + maxMs];
    const isSettled = () => this.#clock >= min && quiet >= quietMs && !this.#refreshes.isWaiting;
    while (this.#clock < max && !isSettled()) {
      const before = this.#gate.begun;
      do {
        await this.#bounded(this.#gate.idle());
        await this.#bounded(this.#frame());
      } while (!this.#gate.isIdle || !this.#loaded || this.#refreshes.isLeaving);
      await this.#bounded(this.#gate.holding(this.#tick()));
      this.#clock += STEP_MS;
      quiet = this.#gate.begun === before ? quiet + STEP_MS : 0;
      if (!(await this.#bounded(this.#followRefreshes()))) continue;
      min = this.#clock + minMs;
      max = Math.max(max, min);
    }
  }

  /** Follows the refreshes that are due. @returns whether there was one */
  async #followRefreshes(): Promise<boolean> {
    const due = this.#refreshes.takeDue(this.#clock);
    for (const { frame, url } of due) {
      if (frame.id === this.#target) this.#loaded = false;
      await ignoringLateErrors(
        this.#frames.evaluate(frame, `(${String(followRefresh)})(${JSON.stringify(url)})`),
      );
    }
    return due.length > 0;
  }

  async #tick(): Promise<void> {
    await Promise.all(
      [...this.#sessions.values()].flatMap(({ id, contexts }) =>
        [...contexts.keys()].map((contextId) =>
          ignoringLateErrors(
            this.#send(
              'Runtime.evaluate',
              { expression: `${TICK}?.(${STEP_MS})`, contextId, awaitPromise: true },
              id,
            ),
          ),
        ),
      ),
    );
  }

  /**
   * No script of the page runs any more, so that text and picture are of the same state, whatever the page observes. Our
   * world goes on, except for its timers. Chromium also takes `@media (scripting)` for false then, so `standStill` rewrites
   * it before. What is laid out anew may differ: `noscript` is shown, so `stillBuiltIns` hides it, and a canvas shows what
   * it contains, so `standStill` has everything laid out before.
   */
  async #stopScripts(): Promise<void> {
    const params = { value: true };
    const frames = [...this.#sessions.values()].filter(({ type }) => type !== 'worker');
    await Promise.all(
      frames.map(({ id }) =>
        ignoringLateErrors(this.#send('Emulation.setScriptExecutionDisabled', params, id)),
      ),
    );
  }

  /** Waits until the browser has drawn what the page's last task changed, so that what becomes visible is asked for. */
  async #frame(): Promise<void> {
    if (!this.#gate.mayRunScripts) {
      // Neither timers nor callbacks run under the policy `sandbox`. A picture is drawn after all that changed before it.
      const clip = { x: 0, y: 0, width: 1, height: 1, scale: 1 };
      await ignoringLateErrors(this.#send('Page.captureScreenshot', { format: 'png', clip }));
      return;
    }
    const world = await this.#frames.world(this.#page);
    await ignoringLateErrors(
      this.#send('Runtime.evaluate', {
        expression: 'new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))',
        contextId: world,
        awaitPromise: true,
      }),
    );
  }

  /** Scrolls to the end, so that what is loaded late is there, and back. @returns `height` if the end was not reached */
  async #scroll(): Promise<CutReason | null> {
    let reason: CutReason | null = 'height';
    for (let screen = 0; screen < MAX_SCREENS; screen += 1) {
      const isAtEnd = await this.#bounded(
        this.#frames.evaluate<boolean>(
          this.#page,
          `(() => {
            const of = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
            const page = of('scrollingElement') ?? of('documentElement');
            if (page.scrollTop + innerHeight >= page.scrollHeight - 1) return true;
            page.scrollBy({ top: innerHeight, behavior: 'instant' });
            return false;
          })()`,
        ),
      );
      if (isAtEnd) {
        reason = null;
        break;
      }
      await this.#settle({ minMs: 2 * STEP_MS, maxMs: 1_000, quietMs: 2 * STEP_MS });
    }
    await this.#bounded(
      this.#frames.evaluate(this.#page, "scrollTo({ top: 0, left: 0, behavior: 'instant' })"),
    );
    await this.#settle({ minMs: 2 * STEP_MS, maxMs: 2_000, quietMs: QUIET_MS });
    return reason;
  }

  /** Reads the document, the text and the picture. The clock of the page stands still. */
  async #read(reason: CutReason | null): Promise<DrawnPage> {
    // What one round shows or ends may begin something else.
    for (let round = 0; round < 2; round += 1) {
      await this.#standStill({ seeks: true });
      await this.#frame();
    }
    await this.#stopScripts();
    // What a script changed last.
    await this.#standStill({ seeks: false });
    const { isCut, ...reading } = await readDocuments(this.#frames, this.#page);
    await this.#frames.each((frame) => stopBuiltIns(this.#frames, frame));
    const { picture, isWhole } = await takePicture(this.#frames, this.#page, this.#options.viewport);
    const why = reason ?? (isCut ? 'bytes' : null) ?? (isWhole ? null : 'height');
    return { ...reading, outcome: why === null ? 'complete' : 'cut', reason: why, picture };
  }

  async #standStill({ seeks }: { seeks: boolean }): Promise<void> {
    await this.#frames.each((frame) => this.#frames.evaluate(frame, `(${String(standStill)})(${seeks})`));
  }
}
