import { hash } from 'node:crypto';
import type { ArchivedDraw, PageCapture } from '../../../shared/collection/page.ts';
import { PAGE_ERROR_SENTENCES } from '../../../shared/collection/retrievalWords.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { type ClosedBrowser, type DrawnByBrowser, NoBrowserError } from '../../browser/closedBrowser.ts';
import { PageCrashedError, PageTooLargeError } from '../../browser/drawPage.ts';
import { BrowserTimeoutError } from '../../browser/protocol.ts';
import { shuttingDown } from '../../runtime/jobs.ts';
import type { Store } from '../../store/store.ts';
import { normalizeUrl } from '../sources/sources.ts';
import { ArchiveGate, readObjectBytes } from './archiveGate.ts';
import { heldAnswers, requirePage } from './readPages.ts';
import { outputsOf } from './recordPage.ts';

interface DrawServices {
  store: Store;
  settings: () => Settings;
  browser: ClosedBrowser;
}

/** What a draw gave: its record, and the three objects by their name. */
interface KeptDraw {
  draw: ArchivedDraw;
  outputs: ReturnType<typeof outputsOf>;
  keptUntil: number;
}

const KEPT_MS = 3_600_000;
/** More bytes of draws are not kept; the oldest go first. */
const MAX_KEPT_BYTES = 200_000_000;
const MAX_AT_ONCE = 2;
const MAX_TEXT_BYTES = 50_000_000;

/** Draws pages from the archive alone. What was drawn is kept for an hour, and is in no ledger. */
export class Draws {
  readonly #services: DrawServices;
  readonly #closing = new AbortController();
  readonly #kept = new Map<string, KeptDraw>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(services: DrawServices) {
    this.#services = services;
    services.store.blobs.onRemoved(() => this.#forgetReleased());
  }

  /** Draws a page capture again and compares. @throws Problem `not_found`, `page_failed`, `busy`, `shutting_down` */
  drawPage(id: string): Promise<ArchivedDraw> {
    const page = requirePage(this.#services.store, id);
    const gate = new ArchiveGate(this.#services.store, Date.parse(page.started_at), {
      page,
      document: page.document,
    });
    // Drawing begins where it began then, so that the way to the document is the same.
    const url = page.requests[0]?.url ?? page.url;
    return this.#run(gate, {
      url,
      at: page.started_at,
      seed: page.seed,
      viewport: page.viewport,
      source: page.source,
      page,
    });
  }

  /** Draws an address as it was at a time. @throws Problem `not_found`, `page_failed`, `busy`, `shutting_down` */
  drawUrl(given: string, time: string): Promise<ArchivedDraw> {
    const { store, settings } = this.#services;
    const at = instantOf(Date.parse(time));
    const url = normalizeUrl(given);
    const held = heldAnswers(store.read, {
      url,
      method: 'GET',
      body: null,
      isRange: false,
      withLogin: true,
      at: Date.parse(at),
    });
    if (!held) throw new Problem('not_found', 'The archive holds no capture of this address.');
    const { page_width, page_height } = settings();
    return this.#run(new ArchiveGate(store, Date.parse(at), { page: null, document: held.sha256 }), {
      url,
      at,
      seed: hash('sha256', `${url} ${at}`, 'hex').slice(0, 16),
      viewport: { width: page_width, height: page_height, scale: 1 },
      source: held.source,
      page: null,
    });
  }

  /** A page that was drawn within the last hour; undefined for another. */
  find(id: string): KeptDraw | undefined {
    this.#forgetOld();
    return this.#kept.get(id);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    this.#kept.clear();
  }

  async #run(
    gate: ArchiveGate,
    page: Pick<ArchivedDraw, 'url' | 'at' | 'seed' | 'viewport' | 'source'> & { page: PageCapture | null },
  ): Promise<ArchivedDraw> {
    if (this.#closing.signal.aborted) throw shuttingDown();
    if (this.#running.size >= MAX_AT_ONCE)
      throw new Problem('busy', 'Other pages are being drawn. Try again in half a minute.', {
        headers: { 'Retry-After': '30' },
      });
    const drawing = this.#draw(gate, page);
    this.#running.add(drawing);
    try {
      return await drawing;
    } catch (error) {
      if (this.#closing.signal.aborted) throw shuttingDown();
      throw problemOf(error);
    } finally {
      this.#running.delete(drawing);
    }
  }

  async #draw(
    gate: ArchiveGate,
    {
      url,
      at,
      seed,
      viewport,
      source,
      page,
    }: Pick<ArchivedDraw, 'url' | 'at' | 'seed' | 'viewport' | 'source'> & { page: PageCapture | null },
  ): Promise<ArchivedDraw> {
    const { store, settings, browser } = this.#services;
    const { page_timeout_seconds, page_max_requests, page_max_mb } = settings();
    const startedAt = store.clock.now();
    const drawn = await browser.draw({
      url,
      gate,
      viewport,
      startsAt: Date.parse(at),
      seed,
      timeoutMs: page_timeout_seconds * 1000,
      maxRequests: page_max_requests,
      maxBytes: Math.floor(page_max_mb * MEGABYTE),
      signal: this.#closing.signal,
    });
    const outputs = outputsOf(drawn);
    const digests = {
      document: hash('sha256', outputs.document, 'hex'),
      text: hash('sha256', outputs.text, 'hex'),
      picture: hash('sha256', outputs.picture, 'hex'),
    };
    const draw: ArchivedDraw = {
      id: `pg_${store.randomHex(20)}`,
      source,
      url: drawn.url,
      title: drawn.title,
      started_at: instantOf(startedAt),
      ended_at: store.instant(),
      browser: drawn.browser,
      environment: drawn.environment,
      seed,
      viewport,
      outcome: drawn.outcome,
      reason: drawn.reason,
      ...digests,
      requests: gate.requests,
      at,
      drawn_from: page?.id ?? null,
      same_picture: page && page.picture === digests.picture,
      same_text: page && page.text === digests.text,
      same_environment: page && page.environment === drawn.environment,
      differences: page ? await this.#differences(page, drawn, outputs, gate) : [],
    };
    this.#keep({ draw, outputs, keptUntil: store.clock.now() + KEPT_MS });
    return draw;
  }

  /** Says how a page that was drawn again differs from its capture. */
  async #differences(
    page: PageCapture,
    drawn: DrawnByBrowser,
    outputs: KeptDraw['outputs'],
    { requests }: ArchiveGate,
  ): Promise<string[]> {
    const found: string[] = [];
    if (page.environment !== drawn.environment)
      found.push(
        `The environment differs: the page was captured with ${page.browser.name} ${page.browser.version} and drawn with ${drawn.browser.name} ${drawn.browser.version}, or the fonts or settings are different.`,
      );
    if (page.outcome !== drawn.outcome)
      found.push(
        drawn.outcome === 'cut'
          ? 'This time, the page was cut off by a limit.'
          : 'The capture was cut off by a limit. This time, the page was not.',
      );
    const asked = new Set(page.requests.map(({ method, url }) => `${method} ${url}`));
    const now = new Set(requests.map(({ method, url }) => `${method} ${url}`));
    const added = [...now].filter((request) => !asked.has(request));
    const gone = [...asked].filter((request) => !now.has(request));
    if (added.length > 0)
      found.push(`It asked for ${count(added.length)} that the capture did not ask for, first ${added[0]}.`);
    if (gone.length > 0)
      found.push(`It did not ask for ${count(gone.length)} that the capture asked for, first ${gone[0]}.`);
    if (hash('sha256', outputs.text, 'hex') !== page.text)
      found.push(await this.#textDifference(page.text, drawn.text));
    if (hash('sha256', outputs.picture, 'hex') !== page.picture) found.push('The picture differs.');
    return found;
  }

  async #textDifference(sha256: string, text: string): Promise<string> {
    const before = (await readObjectBytes(this.#services.store, sha256, MAX_TEXT_BYTES))
      ?.toString('utf8')
      .split('\n');
    if (!before) return 'The text differs.';
    const after = text.split('\n');
    const line = after.findIndex((value, index) => value !== before[index]);
    return `The text differs from line ${(line < 0 ? after.length : line) + 1} on.`;
  }

  #keep(kept: KeptDraw): void {
    this.#kept.set(kept.draw.id, kept);
    this.#forgetOld();
    this.#forgetReleased();
    const sizeOf = ({ outputs }: KeptDraw) =>
      outputs.document.length + outputs.text.length + outputs.picture.length;
    let bytes = [...this.#kept.values()].reduce((sum, draw) => sum + sizeOf(draw), 0);
    for (const [id, draw] of this.#kept) {
      if (bytes <= MAX_KEPT_BYTES || id === kept.draw.id) return;
      this.#kept.delete(id);
      bytes -= sizeOf(draw);
    }
  }

  /** Deletes every drawing that was made from released bytes or has the same bytes. */
  #forgetReleased(): void {
    const { blobs } = this.#services.store;
    for (const [id, { draw }] of this.#kept) {
      const digests = [draw.document, draw.text, draw.picture, ...draw.requests.map(({ sha256 }) => sha256)];
      if (digests.some((sha256) => sha256 !== null && blobs.isReleased(sha256))) this.#kept.delete(id);
    }
  }

  #forgetOld(): void {
    const now = this.#services.store.clock.now();
    for (const [id, { keptUntil }] of this.#kept) if (keptUntil <= now) this.#kept.delete(id);
  }
}

function count(requests: number): string {
  return requests === 1 ? '1 address' : `${requests} addresses`;
}

function problemOf(error: unknown): unknown {
  const sentence =
    error instanceof NoBrowserError
      ? PAGE_ERROR_SENTENCES.no_browser
      : error instanceof BrowserTimeoutError
        ? 'The page did not respond in time.'
        : error instanceof PageTooLargeError
          ? 'The page is too large to be drawn.'
          : error instanceof PageCrashedError
            ? 'The page crashed the browser that drew it.'
            : null;
  return sentence === null ? error : new Problem('page_failed', sentence, { cause: error });
}
