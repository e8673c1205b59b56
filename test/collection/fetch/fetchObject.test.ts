import { EventEmitter, once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import type { Attempt, FetchServices } from '../../../server/collection/fetch/attempt.ts';
import { fetchObject } from '../../../server/collection/fetch/fetchObject.ts';
import { RobotsCache } from '../../../server/collection/fetch/robots.ts';
import { HostRateLimiter } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { systemClock } from '../../../shared/clock.ts';
import { DEFAULT_SETTINGS } from '../../../shared/settings.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb, silence, stall } from '../../support/scriptedWeb.ts';

afterEach(closeScriptedWebs);

type Given = Partial<FetchServices> & {
  timeoutMs?: number;
  signal?: AbortSignal;
  onChunk?: (chunk: Uint8Array) => void | Promise<void>;
};

/** Asks once, with every address public but those that the test says; receives the body as text. */
async function ask(
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
        throw new Error('No name is looked up.');
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

describe('a redirect from a public address to a private, loopback or link-local one is refused', () => {
  const loopbackIsPrivate = (address: string) => address === '127.0.0.1' || address === '::ffff:127.0.0.1';

  async function webs() {
    const outside = await ScriptedWeb.open({ host: '127.0.0.2' });
    const inside = await ScriptedWeb.open({ host: '127.0.0.1' });
    inside.script('/secret', page('inside'));
    return { outside, inside };
  }

  test('by its address', async () => {
    const { outside, inside } = await webs();
    outside.script('/page', redirect(inside.url('/secret')));
    const attempt = await ask(outside.url('/page'), { isPrivateAddress: loopbackIsPrivate });
    expect(attempt).toMatchObject({
      error: 'redirect_refused',
      received: null,
      final_url: inside.url('/secret'),
    });
    expect(inside.requests('/secret')).toEqual([]);
  });

  test('by a name that resolves to it, at whatever hop', async () => {
    const { outside, inside } = await webs();
    outside.script('/page', redirect('/next'));
    outside.script('/next', redirect(inside.url('/secret', 'rebound.test')));
    const attempt = await ask(outside.url('/page'), {
      isPrivateAddress: loopbackIsPrivate,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    expect(attempt).toMatchObject({ error: 'redirect_refused' });
    expect(inside.requests('/secret')).toEqual([]);
  });

  test('and where a name has addresses of both kinds, only the public one is spoken with', async () => {
    const outside = await ScriptedWeb.open({ host: '127.0.0.2' });
    outside.script('/page', redirect(outside.url('/there', 'both.test')));
    outside.script('/there', page('public'));
    const attempt = await ask(outside.url('/page'), {
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
    const attempt = await ask(inside.url('/page'), { isPrivateAddress: loopbackIsPrivate });
    expect(attempt).toMatchObject({ error: null, received: 'inside' });
  });
});

describe('time-outs', () => {
  test('a host that never answers is given up after the time-out', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', silence);
    const clock = new ManualClock();
    const asking = ask(web.url('/page'), { clock, timeoutMs: 5_000 });
    await web.asked('/page');
    await clock.turn(5_000);
    expect(await asking).toMatchObject({ error: 'timeout', status: null, received: null });
  });

  test('a body that stops coming is given up after the time-out', async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', stall);
    const clock = new ManualClock();
    const asking = ask(web.url('/page'), {
      clock,
      timeoutMs: 5_000,
      onChunk: () => void clock.turn(5_001),
    });
    expect(await asking).toMatchObject({ error: 'timeout', status: 200, received: null });
  });

  test.each([
    ['10 bytes each half second is given up', 10, 'timeout'],
    ['60 kB each half second is waited for', 60_000, null],
  ])('a body of which come %s', async (_title, size, error) => {
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
    const attempt = await ask(web.url('/page'), {
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

test('an abort ends the attempt with the abort’s own reason', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', stall);
  const abort = new AbortController();
  const asking = ask(web.url('/page'), { signal: abort.signal });
  await web.asked('/page');
  abort.abort(new Error('enough'));
  await expect(asking).rejects.toThrow('enough');
});

test('a source at an IPv6 address is retrieved', async () => {
  const web = await ScriptedWeb.open({ host: '::1' });
  web.script('/page', page('six'));
  expect(await ask(web.url('/page'))).toMatchObject({ error: null, received: 'six' });
  expect(web.requests('/page')[0]?.headers.host).toBe(`[::1]:${web.port}`);
});

test('a body is passed on as it comes and never held whole', async () => {
  const web = await ScriptedWeb.open();
  const reader = new EventEmitter();
  const parts = 50;
  web.script('/page', async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${parts * 10_000}\r\n\r\n`);
    // No part is sent before the one ahead of it was received: whoever waited for the whole would wait for ever.
    for (let part = 0; part < parts; part += 1) {
      const read = once(reader, 'read');
      socket.write('x'.repeat(10_000));
      await read;
    }
  });
  let received = 0;
  const attempt = await ask(web.url('/page'), {
    onChunk: (chunk) => {
      received += chunk.length;
      if (received % 10_000 === 0) reader.emit('read');
    },
  });
  expect(attempt).toMatchObject({ error: null, received: 'x'.repeat(parts * 10_000) });
  expect(attempt.beginning.length).toBe(65_536);
});
