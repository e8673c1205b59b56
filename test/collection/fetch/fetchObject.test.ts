import { EventEmitter, once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { fetchObject } from '../../../server/collection/fetch/fetchObject.ts';
import type { Attempt, FetchServices } from '../../../server/collection/fetch/requester.ts';
import { RobotsCache } from '../../../server/collection/fetch/robots.ts';
import { HostRateLimiter } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { DEFAULT_SETTINGS } from '../../../shared/node/settings.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { ManualClock } from '../../support/manualClock.ts';
import {
  closeScriptedWebs,
  page,
  redirect,
  ScriptedWeb,
  silence,
  stall,
} from '../../support/network/scriptedWeb.ts';

afterEach(closeScriptedWebs);

type Given = Partial<FetchServices> & {
  timeoutMs?: number;
  signal?: AbortSignal;
  onChunk?: (chunk: Uint8Array) => void | Promise<void>;
};

/** Fetches a URL once and receives the body as text. All addresses are public unless the test says otherwise. */
async function fetchText(
  url: string,
  { timeoutMs = 60_000, signal, onChunk, ...services }: Given = {},
): Promise<Attempt<string>> {
  const clock = services.clock ?? systemClock;
  return fetchObject(
    {
      clock,
      rateLimiter: new HostRateLimiter(clock, () => ({ ...DEFAULT_SETTINGS, per_host_pause_ms: 0 })),
      robots: new RobotsCache(clock),
      lookup: async () => {
        throw new Error('No name should be resolved.');
      },
      isPrivateAddress: () => false,
      ...services,
    },
    {
      url,
      headers: {},
      userAgent: 'Tester/1.0',
      ignoreRobots: true,
      timeoutMs,
      maxBytes: 1_000_000,
      validators: async () => undefined,
      receive: async (chunks) => {
        const received: Uint8Array[] = [];
        for await (const chunk of chunks) {
          received.push(chunk);
          await onChunk?.(chunk);
        }
        return Buffer.concat(received).toString();
      },
      signal: signal ?? new AbortController().signal,
    },
  );
}

describe('a redirect from a public to a private address is refused', () => {
  const loopbackIsPrivate = (address: string) => address === '127.0.0.1' || address === '::ffff:127.0.0.1';

  async function webs() {
    const outside = await ScriptedWeb.open({ host: '127.0.0.2' });
    const inside = await ScriptedWeb.open({ host: '127.0.0.1' });
    inside.script('/secret', page('inside'));
    return { outside, inside };
  }

  test('given as an IP address', async () => {
    const { outside, inside } = await webs();
    outside.script('/page', redirect(inside.url('/secret')));
    const attempt = await fetchText(outside.url('/page'), { isPrivateAddress: loopbackIsPrivate });
    expect(attempt).toMatchObject({
      error: 'redirect_refused',
      received: null,
      final_url: inside.url('/secret'),
    });
    expect(inside.requests('/secret')).toEqual([]);
  });

  test('given as a name, at any hop', async () => {
    const { outside, inside } = await webs();
    outside.script('/page', redirect('/next'));
    outside.script('/next', redirect(inside.url('/secret', 'rebound.test')));
    const attempt = await fetchText(outside.url('/page'), {
      isPrivateAddress: loopbackIsPrivate,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    expect(attempt).toMatchObject({ error: 'redirect_refused' });
    expect(inside.requests('/secret')).toEqual([]);
  });

  test('unless the name also has a public address, which is used', async () => {
    const outside = await ScriptedWeb.open({ host: '127.0.0.2' });
    outside.script('/page', redirect(outside.url('/there', 'both.test')));
    outside.script('/there', page('public'));
    const attempt = await fetchText(outside.url('/page'), {
      isPrivateAddress: loopbackIsPrivate,
      lookup: async () => [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ],
    });
    expect(attempt).toMatchObject({ error: null, received: 'public' });
  });

  test('unless the source itself is at such an address', async () => {
    const { outside, inside } = await webs();
    inside.script('/page', redirect(outside.url('/page')));
    outside.script('/page', redirect(inside.url('/secret')));
    const attempt = await fetchText(inside.url('/page'), { isPrivateAddress: loopbackIsPrivate });
    expect(attempt).toMatchObject({ error: null, received: 'inside' });
  });
});

describe('timeouts', () => {
  test('a host that does not respond fails after the timeout', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', silence);
    const clock = new ManualClock();
    const fetching = fetchText(web.url('/page'), { clock, timeoutMs: 5_000 });
    await web.asked('/page');
    await clock.turn(5_000);
    expect(await fetching).toMatchObject({ error: 'timeout', status: null, received: null });
  });

  test('a body that stops fails after the timeout', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', stall);
    const clock = new ManualClock();
    const fetching = fetchText(web.url('/page'), {
      clock,
      timeoutMs: 5_000,
      onChunk: () => void clock.turn(5_001),
    });
    expect(await fetching).toMatchObject({ error: 'timeout', status: 200, received: null });
  });

  test.each([
    ['10 bytes per half second fails', 10, 'timeout'],
    ['60 kB per half second is received', 60_000, null],
  ])('a body with %s', async (_title, size, error) => {
    const web = await ScriptedWeb.open();
    const clock = new ManualClock();
    const reader = new EventEmitter();
    let expected = 0;
    let received = 0;
    web.script('/page', async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
      for (let drip = 0; drip < 20 && !socket.destroyed; drip += 1) {
        expected += size;
        const read = once(reader, 'read');
        socket.write('x'.repeat(size));
        await read;
      }
      socket.end();
    });
    const attempt = await fetchText(web.url('/page'), {
      clock,
      timeoutMs: 1_000,
      onChunk: async (chunk) => {
        received += chunk.length;
        if (received < expected) return;
        await clock.turn(500);
        reader.emit('read');
      },
    });
    expect(attempt.error).toBe(error);
  });
});

test('an aborted attempt rejects with the signal’s reason', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', stall);
  const abort = new AbortController();
  const fetching = fetchText(web.url('/page'), { signal: abort.signal });
  await web.asked('/page');
  abort.abort(new Error('enough'));
  await expect(fetching).rejects.toThrow('enough');
});

test('a source at an IPv6 address is retrieved', async () => {
  const web = await ScriptedWeb.open({ host: '::1' });
  web.script('/page', page('six'));
  expect(await fetchText(web.url('/page'))).toMatchObject({ error: null, received: 'six' });
  expect(web.requests('/page')[0]?.headers.host).toBe(`[::1]:${web.port}`);
});

test('a body is streamed and never buffered completely', async () => {
  const web = await ScriptedWeb.open();
  const reader = new EventEmitter();
  const parts = 50;
  web.script('/page', async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${parts * 10_000}\r\n\r\n`);
    // Each part is sent only after the previous one was received, so buffering the body would hang.
    for (let part = 0; part < parts; part += 1) {
      const read = once(reader, 'read');
      socket.write('x'.repeat(10_000));
      await read;
    }
  });
  let received = 0;
  const attempt = await fetchText(web.url('/page'), {
    onChunk: (chunk) => {
      received += chunk.length;
      if (received % 10_000 === 0) reader.emit('read');
    },
  });
  expect(attempt).toMatchObject({ error: null, received: 'x'.repeat(parts * 10_000) });
  expect(attempt.beginning.length).toBe(65_536);
});
