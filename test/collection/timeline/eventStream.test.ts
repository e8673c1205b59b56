import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode({ per_host_concurrency: 10 });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Reads messages from the event stream. */
class Reader {
  readonly #answer: Response;
  readonly #messages: EventSourceMessage[] = [];
  readonly #body: ReadableStreamDefaultReader<string>;
  readonly #parser = createParser({ onEvent: (message) => void this.#messages.push(message) });

  private constructor(answer: Response) {
    this.#answer = answer;
    if (!answer.body) throw new Error('The stream has no body.');
    this.#body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async open(lastEventId?: string): Promise<Reader> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    return new Reader(await node.node.fetch('/api/events/stream', { headers }));
  }

  get type(): string | null {
    return this.#answer.headers.get('content-type');
  }

  /** Returns the next `count` messages, or fewer if the stream ends. */
  async take(count: number): Promise<EventSourceMessage[]> {
    while (this.#messages.length < count) {
      const { done, value } = await this.#body.read();
      if (done) break;
      this.#parser.feed(value);
    }
    return this.#messages.splice(0, count);
  }

  async takeIds(count: number): Promise<number[]> {
    return (await this.take(count)).map(({ id }) => Number(id));
  }

  close(): Promise<void> {
    return this.#body.cancel();
  }
}

/** Makes the first `sources` sources change at once. */
async function change(sources: number, version: number): Promise<void> {
  for (let number = 0; number < sources; number += 1) web.script(`/${number}`, page(`${number} ${version}`));
  await node.check();
}

test('sends every new event once, in order, as in /api/events', async () => {
  for (let number = 0; number < 20; number += 1) await node.watch(web.url(`/${number}`));
  const reader = await Reader.open();
  expect(reader.type).toMatch(/^text\/event-stream/);
  await change(20, 1);
  await change(20, 2);
  const messages = await reader.take(40);
  expect(messages.map(({ id }) => Number(id))).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  const seventh = messages[6];
  // Events that are observed in one millisecond are listed in another order than they are recorded in.
  const listed = await node.events();
  expect(JSON.parse(seventh?.data ?? '')).toEqual(listed.find(({ id }) => id === 7));
  await reader.close();
});

test('a reader that reconnects with Last-Event-ID misses no event and gets none twice', async () => {
  for (let number = 0; number < 8; number += 1) await node.watch(web.url(`/${number}`));
  const first = await Reader.open();
  await change(8, 1);
  expect(await first.takeIds(5)).toEqual([1, 2, 3, 4, 5]);
  await first.close();
  await change(8, 2);
  const second = await Reader.open('5');
  const changing = change(8, 3);
  expect(await second.takeIds(19)).toEqual(Array.from({ length: 19 }, (_, index) => index + 6));
  await changing;
  await second.close();
});

test('a reader without a valid Last-Event-ID gets new events only', async () => {
  await node.watch(web.url('/0'));
  await change(1, 1);
  const readers = [await Reader.open(), await Reader.open('x'), await Reader.open('77')];
  await change(1, 2);
  for (const reader of readers) {
    expect(await reader.takeIds(1)).toEqual([2]);
    await reader.close();
  }
});

test('a slow reader gets a long backlog completely', async () => {
  const sources = 30;
  for (let number = 0; number < sources; number += 1)
    await node.watch(web.url(`/${number}`), {
      name: 'n'.repeat(200),
      tags: Array.from({ length: 50 }, (_, tag) => `${tag}`.padEnd(90, 't')),
    });
  for (let version = 0; version < 4; version += 1) await change(sources, version);
  const reader = await Reader.open('0');
  const ids = await reader.takeIds(sources * 4);
  expect(ids).toEqual(Array.from({ length: sources * 4 }, (_, index) => index + 1));
  await reader.close();
});

test('HEAD returns only the headers, and closing the node ends its streams', async () => {
  const head = await node.node.fetch('/api/events/stream', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect(head.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const reader = await Reader.open();
  await node.node.close();
  expect(await reader.take(1)).toEqual([]);
});
