import { afterEach, expect, test } from 'vitest';
import { fetchObject } from '../../../server/collection/fetch/fetchObject.ts';
import { RobotsCache } from '../../../server/collection/fetch/robots.ts';
import { hashBody } from '../../../server/collection/record/objectReceiver.ts';
import { HostRateLimiter } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { DEFAULT_SETTINGS } from '../../../shared/node/settings.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';

afterEach(closeScriptedWebs);

test.each([
  [false, 'redirect_refused'],
  [true, null],
  [undefined, null],
])(
  'fetching from a private host with allowPrivateAddress = %s ends with %s',
  async (allowPrivateAddress, error) => {
    const web = await ScriptedWeb.open();
    web.script('/memento', page('inside'));
    const services = {
      clock: systemClock,
      rateLimiter: new HostRateLimiter(systemClock, () => DEFAULT_SETTINGS),
      robots: new RobotsCache(systemClock),
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
      receive: hashBody,
      allowPrivateAddress,
      signal: new AbortController().signal,
    });
    expect(attempt.error).toBe(error);
    expect(web.requests('/memento')).toHaveLength(error === null ? 1 : 0);
  },
);
