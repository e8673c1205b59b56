import { afterEach, expect, test } from 'vitest';
import { fetchObject } from '../../../server/collection/fetch/fetchObject.ts';
import { Robots } from '../../../server/collection/fetch/robots.ts';
import { Politeness } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { measure } from '../../../server/collection/sources/measure.ts';
import { systemClock } from '../../../shared/clock.ts';
import { DEFAULT_SETTINGS } from '../../../shared/settings.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/scriptedWeb.ts';

afterEach(closeScriptedWebs);

test.each([
  [false, 'redirect_refused'],
  [true, null],
  [undefined, null],
])(
  'an address at a private host that is named by one at a private host %s ends with %s',
  async (namedByPrivate, error) => {
    const web = await ScriptedWeb.open();
    web.script('/memento', page('inside'));
    const services = {
      clock: systemClock,
      politeness: new Politeness(systemClock, () => DEFAULT_SETTINGS),
      robots: new Robots(systemClock),
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
      isPrivateAddress: () => true,
    };
    const attempt = await fetchObject(services, {
      url: web.url('/memento'),
      headers: {},
      userAgent: 'Test/1',
      ignoreRobots: true,
      timeoutMs: 10_000,
      maxBytes: 1_000,
      validators: async () => undefined,
      receive: measure,
      namedByPrivate,
      signal: new AbortController().signal,
    });
    expect(attempt.error).toBe(error);
    expect(web.requests('/memento')).toHaveLength(error === null ? 1 : 0);
  },
);
