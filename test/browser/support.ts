import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClosedBrowser, chromiumIn } from '../../server/browser/closedBrowser.ts';
import type { DrawOptions } from '../../server/browser/drawPage.ts';
import type {
  ByteBudget,
  PageAnswer,
  PageGate,
  PageRequestToAnswer,
} from '../../server/browser/requestGate.ts';
import { createLog } from '../../server/runtime/log.ts';

export const SITE = 'https://site.example/';

/** A gate that answers by a function, and keeps what was asked and refused. */
export class ScriptedGate implements PageGate {
  readonly asked: PageRequestToAnswer[] = [];
  readonly refused: { url: string; reason: string }[] = [];
  readonly #answer: (request: PageRequestToAnswer) => PageAnswer | null | Promise<PageAnswer | null>;

  constructor(answer: (request: PageRequestToAnswer) => PageAnswer | null | Promise<PageAnswer | null>) {
    this.#answer = answer;
  }

  async answer(
    request: PageRequestToAnswer,
    _signal: AbortSignal,
    budget: ByteBudget,
  ): Promise<PageAnswer | null> {
    this.asked.push(request);
    const answer = await this.#answer(request);
    return budget.take(answer?.body.length ?? 0) ? answer : null;
  }

  refuse({ url }: { url: string }, reason: string): void {
    this.refused.push({ url, reason });
  }
}

export function answer(body: string | Buffer, type = 'text/html; charset=utf-8'): PageAnswer {
  return { status: 200, headers: [['content-type', type]], body: Buffer.from(body) };
}

/** A gate that answers the page itself with this HTML, and everything else with one letter. */
export function gateTo(html: string): ScriptedGate {
  return new ScriptedGate(({ isMainDocument, url }) =>
    isMainDocument ? answer(html) : answer('x', url.endsWith('.js') ? 'text/javascript' : 'text/html'),
  );
}

/** A browser in a folder of its own, and how the tests draw with it. */
export async function openBrowser(): Promise<{
  draw: (gate: PageGate, options?: Partial<DrawOptions>) => ReturnType<ClosedBrowser['draw']>;
  profiles: string;
  close: () => Promise<void>;
}> {
  const profiles = await mkdtemp(join(tmpdir(), 'strongroom-browser-'));
  const browser = new ClosedBrowser(chromiumIn(profiles), createLog('silent'));
  return {
    profiles,
    draw: (gate, options = {}) =>
      browser.draw({
        url: SITE,
        gate,
        viewport: { width: 800, height: 600, scale: 1 },
        startsAt: Date.parse('2026-01-02T03:04:05Z'),
        seed: '0123456789abcdef',
        timeoutMs: 10_000,
        maxRequests: 100,
        maxBytes: 10_000_000,
        signal: new AbortController().signal,
        ...options,
      }),
    close: async () => {
      await browser.close();
      await rm(profiles, { recursive: true, force: true });
    },
  };
}
