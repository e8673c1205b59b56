import { watchedRegion } from '../../../shared/collection/noise.ts';
import type { PageError } from '../../../shared/collection/source.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { type ClosedBrowser, type DrawnByBrowser, NoBrowserError } from '../../browser/closedBrowser.ts';
import { PageTooLargeError } from '../../browser/drawPage.ts';
import { BrowserTimeoutError } from '../../browser/protocol.ts';
import type { Log } from '../../runtime/log.ts';
import { newestPage } from '../../store/sqlite/collection/pages.ts';
import { markWorking } from '../../store/sqlite/collection/profiles.ts';
import { type SourceRow, updatePageError } from '../../store/sqlite/collection/sources.ts';
import { isStorageFailure } from '../../store/storageErrors.ts';
import type { Store } from '../../store/store.ts';
import { type Deriver, objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import { setCookiesOf } from '../fetch/fetchObject.ts';
import { ConnectionPool } from '../fetch/httpConnection.ts';
import type { FetchServices } from '../fetch/requester.ts';
import { asksForPassword, beginningOf, isLoginAddress, recordLogin } from '../profiles/logins.ts';
import { LoginMissingError, type ProfileSession, type Profiles } from '../profiles/profiles.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';
import { secretsOf } from '../record/secrets.ts';
import { readObjectBytes } from './archiveGate.ts';
import { CaptureQueue, type PageToCapture } from './captureQueue.ts';
import {
  NoSpaceForPageError,
  type PageChange,
  previousOutputs,
  type RecordedPageCapture,
  ReleasedDocumentError,
  ReleasedPartError,
  recordPage,
  recordPageError,
} from './recordPage.ts';
import { WebGate } from './webGate.ts';

interface PageServices {
  store: Store;
  receiver: ObjectReceiver;
  profiles: Pick<Profiles, 'sessionOf'>;
  /** With limits of its own: a page asks one host for many parts at once. */
  fetching: FetchServices;
  settings: () => Settings;
  browser: ClosedBrowser;
  deriver: Pick<Deriver, 'derive'>;
  log: Log;
}

/** At most this many requests of a page run at once on one host. */
export const PARTS_PER_HOST = 6;
/** A part that takes longer is given up, so that one slow part does not use up the time of the page. */
const MAX_PART_MS = 15_000;
const COMPARE_MS = 15_000;
const MAX_DOCUMENT_BYTES = 50_000_000;

/** Captures pages, a few at once, so that no source waits for the page of another. */
export class PageCapturer {
  readonly #services: PageServices;
  readonly #closing = new AbortController();
  readonly #queue: CaptureQueue<RecordedPageCapture>;

  constructor(services: PageServices) {
    this.#services = services;
    this.#queue = new CaptureQueue({
      concurrency: () => services.settings().page_concurrency,
      capture: (page, signal) => this.#capture(page, AbortSignal.any([signal, this.#closing.signal])),
    });
  }

  /**
   * Captures the page of a source in its turn, or before those that nobody waits for. Resolves to null if it could not be
   * drawn, which the source then says.
   */
  capture(page: PageToCapture, signal: AbortSignal, isFirst = false): Promise<RecordedPageCapture | null> {
    return this.#queue.add(page, signal, isFirst);
  }

  /** Starts captures that wait, if the settings allow more at once. */
  wake(): void {
    this.#queue.startNext();
  }

  /** Ends the captures that run and forgets those that wait. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#queue.idle();
  }

  async #capture(page: PageToCapture, signal: AbortSignal): Promise<RecordedPageCapture | null> {
    if (signal.aborted) return null;
    const { store, log } = this.#services;
    try {
      return await this.#draw(page, signal);
    } catch (error) {
      if (signal.aborted) return null;
      if (isStorageFailure(error)) throw error;
      // The login was removed after the check; the next check says so.
      if (error instanceof LoginMissingError || error instanceof ReleasedDocumentError) return null;
      const reason = pageErrorOf(error);
      // Anything else is a fault of this program, and of no page.
      if (reason === 'page_crashed') log.error({ error, url: page.source.url }, 'A page could not be drawn');
      await recordPageError(store, page.source, reason);
      // Where no page can be drawn, what the server answered is all that is known of the login.
      const { profile, key: source } = page.source;
      if (reason === 'no_browser' && profile !== null)
        await store.write((database) => markWorking(database, { profile, source, at: store.instant() }));
      return null;
    }
  }

  async #draw(page: PageToCapture, signal: AbortSignal): Promise<RecordedPageCapture | null> {
    const { fetching, profiles } = this.#services;
    const login = await profiles.sessionOf(page.source);
    if (!login) return this.#drawWith(page, { fetching, login }, signal);
    // Connections over which a login was sent are not used for anything else.
    const connections = new ConnectionPool(fetching.connections?.keepAliveMs);
    try {
      return await this.#drawWith(page, { fetching: { ...fetching, connections }, login }, signal);
    } finally {
      connections.close();
    }
  }

  async #drawWith(
    { source, retrieval, document }: PageToCapture,
    { fetching, login }: { fetching: FetchServices; login: ProfileSession | undefined },
    signal: AbortSignal,
  ): Promise<RecordedPageCapture | null> {
    const { store, receiver, settings, browser } = this.#services;
    const { page_width, page_height, page_timeout_seconds, page_max_requests, page_max_mb } = settings();
    const { user_agent, request_timeout_seconds, max_object_mb } = settings();
    const viewport = { width: page_width, height: page_height, scale: 1 };
    const id = `pg_${store.randomHex(20)}`;
    const seed = store.randomHex(16);
    const startsAt = store.clock.now();
    const body = await readObjectBytes(store, document.sha256, MAX_DOCUMENT_BYTES);
    if (!body) throw new PageTooLargeError();
    const secrets = secretsOf(source, login);
    secrets?.addCookies([...document.redirectCookies.flat(), ...setCookiesOf(document.headers)]);
    const gate = new WebGate({
      services: { ...fetching, instant: () => store.instant() },
      document: { ...document, body },
      ownerHeaders: source.headers,
      login,
      secrets,
      userAgent: user_agent,
      timeoutMs: Math.min(request_timeout_seconds * 1000, MAX_PART_MS),
      maxBytes: Math.floor(Math.min(source.max_object_mb ?? max_object_mb, page_max_mb) * MEGABYTE),
    });
    const drawn = await browser.draw({
      url: source.url,
      gate,
      login,
      viewport,
      startsAt,
      seed,
      timeoutMs: page_timeout_seconds * 1000,
      maxRequests: page_max_requests,
      maxBytes: Math.floor(page_max_mb * MEGABYTE),
      signal,
    });
    if (gate.isDocumentLost) throw new PageTooLargeError();
    if (login && (await this.#isLoginPage(source, drawn))) {
      await recordLoginPage(store, source, login);
      return null;
    }
    return recordPage(
      { store, receiver },
      {
        source,
        retrieval,
        id,
        seed,
        started_at: instantOf(startsAt),
        ended_at: store.instant(),
        viewport,
        drawn,
        parts: gate.parts,
        login,
        secrets,
      },
      (outputs) => this.#compare(source, outputs),
    );
  }

  /** Whether scripts brought the page to where the site asks to log in. */
  async #isLoginPage({ key, url }: SourceRow, drawn: DrawnByBrowser): Promise<boolean> {
    if (isLoginAddress(drawn.url) && !isLoginAddress(url)) return true;
    if (!asksForPassword(drawn.document)) return false;
    const { store } = this.#services;
    const before = newestPage(store.read, key);
    const document = before && (await beginningOf(store, before.document));
    return document !== undefined && !asksForPassword(document);
  }

  async #compare(
    source: SourceRow,
    { text, picture }: { text: string; picture: string },
  ): Promise<PageChange> {
    const before = previousOutputs(this.#services.store, source.key);
    const pixels =
      before.picture === null
        ? null
        : before.picture === picture
          ? 0
          : await this.#changedPixels(before.picture, picture);
    return {
      isTextChanged:
        before.text === null || (before.text !== text && !(await this.#isNoise(source, before.text, text))),
      isRegionChanged:
        before.eventPicture !== null &&
        before.eventPicture !== picture &&
        (await this.#isRegionChanged(source, before.eventPicture, picture)),
      picture_changed: before.picture === null ? null : before.picture !== picture,
      changed_pixels: pixels,
    };
  }

  /** Whether the watched region of two pictures differs; false if none is watched, or it is in neither. */
  async #isRegionChanged({ watch }: SourceRow, from: string, to: string): Promise<boolean> {
    if (!watchedRegion(watch)) return false;
    try {
      const { outside, watch: sought } = await this.#services.deriver.derive(
        {
          task: 'noise',
          from: this.#object(from, 'image/png'),
          to: this.#object(to, 'image/png'),
          scope: { watch, rules: [] },
        },
        { timeoutMs: COMPARE_MS, priority: 'low' },
      );
      return !outside && sought !== null && sought.found.from + sought.found.to > 0;
    } catch (error) {
      // As with the share of changed pixels: what cannot be compared has changed.
      if (error instanceof NotDerivableError) return true;
      throw error;
    }
  }

  /** Whether the noise rules of the source explain the whole change of the text. */
  async #isNoise(source: SourceRow, from: string, to: string): Promise<boolean> {
    if (source.noise_rules.length === 0) return false;
    try {
      const findings = await this.#services.deriver.derive(
        {
          task: 'noise',
          from: this.#object(from, 'text/plain; charset=utf-8'),
          to: this.#object(to, 'text/plain; charset=utf-8'),
          scope: { watch: null, rules: source.noise_rules },
        },
        { timeoutMs: COMPARE_MS, priority: 'low' },
      );
      return findings.is_noise === true;
    } catch (error) {
      if (error instanceof NotDerivableError) return false;
      throw error;
    }
  }

  /** Returns the share of pixels that changed; all of them if the pictures cannot be compared. */
  async #changedPixels(from: string, to: string): Promise<number> {
    try {
      const { share } = await this.#services.deriver.derive(
        { task: 'pictures', from: this.#object(from, 'image/png'), to: this.#object(to, 'image/png') },
        { timeoutMs: COMPARE_MS, priority: 'low' },
      );
      return share;
    } catch (error) {
      if (error instanceof NotDerivableError) return 1;
      throw error;
    }
  }

  #object(sha256: string, contentType: string) {
    return { ...objectToRead(this.#services.store, sha256), contentType };
  }
}

/** Records that a page was not kept, because it is where the site asks to log in. */
function recordLoginPage(
  store: Pick<Store, 'write' | 'instant'>,
  { key }: SourceRow,
  login: ProfileSession,
): Promise<void> {
  return store.write((database) => {
    recordLogin(database, login, { result: 'login_page', source: key, at: store.instant() });
    updatePageError(database, key, 'profile_expired');
  });
}

function pageErrorOf(error: unknown): PageError {
  if (error instanceof NoBrowserError) return 'no_browser';
  if (error instanceof BrowserTimeoutError) return 'page_timeout';
  if (error instanceof ReleasedPartError) return 'page_released';
  if (error instanceof PageTooLargeError || error instanceof NoSpaceForPageError) return 'page_too_large';
  return 'page_crashed';
}
