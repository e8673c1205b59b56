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

export const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>';

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

/** A video of 64 × 36 pixels and 1.5 seconds: first red, then blue. */
export const VIDEO = Buffer.from(
  [
    'GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQRChYECGFOAZwEAAAAAAAVpEU2bdLlNu4tTq4QVSalmU6yBbk27i1OrhBZU',
    'rmtTrIGTTbuLU6uEH0O2dVOsgdRNu4xTq4QcU7trU6yCBVfsrgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'AAAAAAAAAAAVSalmoCrXsYMPQkBEiYREryIdTYCGQ2hyb21lV0GGQ2hyb21lFlSua7yuuteBAXPFh4aAugG6iXSDgQFV7oEBhoVW',
    'X1ZQOOCdsIFAuoEkU8CBAVWwkFWxgQFVuYECVbqBDVW7gQEfQ7Z1AQAAAAAABHfngQCg5aG2gQAAANACAJ0BKkAAJAAHBwiFhYiZ',
    'hIglggJ08ma6NHm/FnfA/uwmWMJpJ0f/JT/7yv9d2zAAdaGqpqjugQGlo7ACAJ0BKkAAJAAKhwiFhYiZhIg4AgAGjk/Mx5vxWAD+',
    '664AoM+hroEAZABRAgAcETwAGAxRSyDblHAWO1X81gD+645dhhME6//jeP8l39u+y2W7shR1oZmml+6BAaWS0QEAKhHAABgAGFgv',
    '9AAIjAAA+4EAoMuhqoEAyAARAgAcEPwAGAAaT/QMABT6qqiA/u4KZ1xc2RFH/5xL/6Bf+AvMAHWhmaaX7oEBpZLRAQAqEcAAGAAY',
    'WC/0AAiMAAD7gWSgzaGsgQEsABECABwQ6AAYABpP9AwAFPqqqID+7tPfg2SKbkf/0JP/+CT//gk/cAB1oZmml+6BAaWS0QEAKhHA',
    'ABgAGFgv9AAIjAAA+4HIoNGhr4EBkQBRAgAcEMwAGAdgED/y5pmAgyP91XD+771X13i0o1/+rQ/9Wh/6tD9yrcgAdaGZppfugQGl',
    'ktEBACoRwAAYABhYL/QACIwAAPuCASygzqGsgQH1ABECABwQsAAYABpP9AwAFPqqqID+9eZ//7Kx/6Vj/0rH7wU/RL4SEAB1oZmm',
    'l+6BAaWS0QEAKhGQABgAGFgv9AAIjAAA+4IBkaDSobCBAmgAMQIAHBCQABgAHlf0DAA9CbjwRAD++Hyz/7sn/9sn/9sn/vGbyhyL',
    'HH8A2AB1oZmml+6BAaWS0QEAKhF4ABgAGFgv9AAIjAAA+4IB9aDTobKBArwAMQIAHBB8ABgAHlf0DAA9CbjwRAD++jPL/+FNf+FN',
    'f+FNf8Ka9TA/Dw/D4CqAAHWhmKaW7oEBpZGxAQAqESAUYABhYL/QACIwAPuCAmig0aGvgQO4ABECABwQaAAYABpP9AwAFPqqqID+',
    '+8Er/+Zef+Zef+Zef8y89aY/Dw/DdAB1oZmml+6BAaWS0QEAKhFwABgAGFgv9AAIjAAA+4ICvKDPoa2BA+sAEQIAHBBYABgAGk/0',
    'DAAU+qqogP78do//9HG/+jjf/Rxv/RxvzXxAtwB1oZmml+6BAaWS0QEAKhFgABgAGFgv9AAIjAAA+4IDuKDPoa2BBEwAEQIAHBBI',
    'ABgAGk/0DAAU+qqogP79Ecf/9Xbf+rtv/V23/V2313i0lIB1oZmml+6BAaWS0QEAKhFQABgAGFgv9AAIjAAA+4ID66DQoa6BBLwA',
    'EQIAHBA8ABgAGk/0DAAU+qqogP794Z3/9x5f/ceX/3Hl/7jy/m+x7McAdaGZppfugQGlktEBACoRPAAYABhYL/QACIwAAPuCBEyg',
    '0aGvgQUUABECABwQMAAYABpP9AwAFPqqqID+/mah//wF//8Bf//AX//gL/90GWcM5gB1oZmml+6BAaWS0QEAKhEoABgAGFgv9AAI',
    'jAAA+4IEvKC4oZaBBXkA0QEAHBAoABgAGFgv9AAIjAAAdaGZppfugQGlktEBACoQ+AAYABhYL/QACIwAAPuCBRQcU7trjbuLs4EA',
    't4b3gQHxgdQ=',
  ].join(''),
  'base64',
);
