import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Retrieval } from '../../../shared/source.ts';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, page, raw, redirect, ScriptedWeb, type Step } from '../../support/scriptedWeb.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode({ per_host_concurrency: 20 });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function sha256(body: string): string {
  return createHash('sha256').update(body, 'latin1').digest('hex');
}

/** Watches a path for each step, checks them all in one round, and gives each attempt by the step's title. */
async function attempts(steps: Record<string, Step>): Promise<Record<string, Retrieval | undefined>> {
  const ids: Record<string, string> = {};
  for (const [index, [title, step]] of Object.entries(steps).entries()) {
    web.script(`/${index}`, step);
    ids[title] = (await node.watch(web.url(`/${index}`))).id;
  }
  await node.check();
  const found: Record<string, Retrieval | undefined> = {};
  for (const [title, id] of Object.entries(ids)) found[title] = (await node.retrievals(id)).at(-1);
  return found;
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('answers that are odd, and whole', () => {
  const WHOLE: Record<string, [Step, string]> = {
    'chunks with extensions, and trailers after the last': [
      raw(`${OK}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n`),
      'abc',
    ],
    'more bytes than Content-Length': [raw(`${OK}Content-Length: 3\r\n\r\nabcdef`), 'abc'],
    'hints before the answer': [
      raw(`${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(3)}${OK}Content-Length: 3\r\n\r\nabc`),
      'abc',
    ],
    'HTTP/1.0 without a length': [raw('HTTP/1.0 200 OK\r\n\r\nto the end'), 'to the end'],
    'a body after 204': [raw('HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc'), ''],
    'an encoding that the body is not in': [
      page('plain', { headers: { 'Content-Encoding': 'gzip' } }),
      'plain',
    ],
    'an encoding that nobody knows': [
      page('plain', { headers: { 'Content-Encoding': 'x-sealed' } }),
      'plain',
    ],
    'no content type, and no reason': [raw('HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\nabc'), 'abc'],
    'a header that is no ASCII': [raw(`${OK}X-Place: Z\xfcrich\r\nContent-Length: 3\r\n\r\nabc`), 'abc'],
    'a thousand headers': [raw(`${OK}${'X-A: b\r\n'.repeat(1_000)}Content-Length: 3\r\n\r\nabc`), 'abc'],
  };

  test('their bytes are stored as they came after transfer decoding', async () => {
    const found = await attempts(
      Object.fromEntries(Object.entries(WHOLE).map(([title, [step]]) => [title, step])),
    );
    const told = Object.entries(found).map(([title, attempt]) => [title, attempt?.error, attempt?.sha256]);
    expect(told).toEqual(Object.entries(WHOLE).map(([title, [, body]]) => [title, null, sha256(body)]));
    expect(found['a header that is no ASCII']?.headers).toContainEqual(['X-Place', 'Zürich']);
  });
});

describe('answers that are none', () => {
  const NONE: Record<string, [Step, string, number | null]> = {
    'ten megabytes of headers': [
      (socket) => {
        socket.write(OK);
        const line = `X-Flood: ${'x'.repeat(8_000)}\r\n`;
        let left = 1_250;
        const more = () => {
          while (!socket.destroyed && left > 0 && socket.write(line)) left -= 1;
        };
        socket.on('drain', more);
        more();
      },
      'invalid_response',
      null,
    ],
    'a length and chunks at once': [
      raw(`${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
      'invalid_response',
      null,
    ],
    'a length that is no number': [raw(`${OK}Content-Length: three\r\n\r\nabc`), 'invalid_response', null],
    'a length below nothing': [raw(`${OK}Content-Length: -3\r\n\r\nabc`), 'invalid_response', null],
    'a NUL in a header': [raw(`${OK}X-A: a\x00b\r\nContent-Length: 3\r\n\r\nabc`), 'invalid_response', null],
    'another protocol': [
      raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
      'invalid_response',
      null,
    ],
    // The client takes it for no answer to a request without a body.
    'to go on with what nobody sends': [
      raw(`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 3\r\n\r\nabc`),
      'invalid_response',
      null,
    ],
    'a status that nobody knows': [page('what', { status: 999 }), 'http_error', 999],
    'a choice between several': [page('choose', { status: 300 }), 'invalid_response', 300],
    'a redirect to garbage': [redirect('http://[::/'), 'invalid_response', 302],
    'a redirect to an empty address': [redirect(''), 'redirect_loop', 302],
    'a redirect to a script': [redirect('javascript:alert(1)'), 'redirect_refused', 302],
    'a redirect longer than any head': [redirect(`/${'x'.repeat(100_000)}`), 'invalid_response', null],
    'an end within the head': [raw(`${OK}Content-Le`), 'connection_reset', null],
    'a first line alone': [raw('200\r\n\r\n'), 'invalid_response', null],
  };

  test('each fails by its word, and none is an observation', async () => {
    const found = await attempts(
      Object.fromEntries(Object.entries(NONE).map(([title, [step]]) => [title, step])),
    );
    const told = Object.entries(found).map(([title, attempt]) => [title, attempt?.error, attempt?.status]);
    expect(told).toEqual(Object.entries(NONE).map(([title, [, error, status]]) => [title, error, status]));
    expect(await node.read('/api/stats')).toMatchObject({ observations: 0, events: 0 });
  });
});

test('a name and a password in a redirect are sent to nobody, and in no address that is shown', async () => {
  const there = web.url('/there').replace('//', '//ada:secret@');
  web.script('/there', page('text'));
  const { from } = await attempts({ from: redirect(there) });
  expect(from).toMatchObject({ error: null, final_url: web.url('/there') });
  expect(web.requests('/there')[0]?.headers).not.toHaveProperty('authorization');
});

test('a redirect to an address of 60,000 characters is followed', async () => {
  const long = `/${'x'.repeat(60_000)}`;
  web.script(long, page('text'));
  const { from } = await attempts({ from: redirect(long) });
  expect(from).toMatchObject({ error: null, final_url: web.url(long) });
});

test('from a source on this machine a redirect may lead to another loopback address', async () => {
  const other = await ScriptedWeb.open({ host: '127.0.0.2' });
  other.script('/page', page('there'));
  const { from } = await attempts({ from: redirect(other.url('/page')) });
  expect(from).toMatchObject({ error: null, final_url: other.url('/page') });
});

test('a socket that the server half closes after its answer is whole; one half closed before it is not', async () => {
  const found = await attempts({
    after: (socket) => {
      socket.write(`${OK}Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc`);
      socket.end();
    },
    before: (socket) => void socket.end(),
    within: (socket) => {
      socket.write(`${OK}Content-Length: 6\r\nConnection: keep-alive\r\n\r\nabc`);
      socket.end();
    },
  });
  expect(Object.values(found).map((attempt) => attempt?.error)).toEqual([
    null,
    'connection_reset',
    'body_cut_short',
  ]);
});

test('a connection that the server keeps open after its answer holds nothing up', async () => {
  const { kept } = await attempts({
    kept: (socket) => void socket.write(`${OK}Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc`),
  });
  expect(kept).toMatchObject({ error: null, sha256: sha256('abc') });
});

describe('tags that do not keep their word', () => {
  const served = (body: string, etag: string) => page(body, { headers: { ETag: etag } });

  test('another tag for the same bytes is no change', async () => {
    web.script('/page', served('same', '"1"'), served('same', '"2"'), served('same', '"3"'));
    await node.watch(web.url('/page'));
    for (let round = 0; round < 3; round += 1) await node.check();
    expect(await node.timeline()).toEqual(['first_seen']);
    expect(web.requests('/page').map(({ headers }) => headers['if-none-match'])).toEqual([
      undefined,
      '"1"',
      '"2"',
    ]);
  });

  test('the same tag for other bytes is a change, where the bytes are sent', async () => {
    web.script('/page', served('one', '"1"'), served('two', '"1"'));
    await node.watch(web.url('/page'));
    await node.check();
    await node.check();
    expect(await node.timeline()).toEqual(['first_seen', 'changed']);
  });

  test('a 304 that a server gives to nobody’s condition says nothing, though the object was seen before', async () => {
    web.script('/page', page('text'), page('', { status: 304 }));
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ failed: 1 });
    expect((await node.retrievals(id)).at(-1)).toMatchObject({ error: 'invalid_response', sha256: null });
  });

  test('a tag that no header can hold is not sent back', async () => {
    web.script('/page', raw(`${OK}ETag: "\xff\xfe"\r\nContent-Length: 3\r\n\r\nabc`));
    await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1, failed: 0 });
  });
});
