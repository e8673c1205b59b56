import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import {
  closeScriptedWebs,
  page,
  raw,
  redirect,
  ScriptedWeb,
  type Step,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
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

/** Watches a path for each step, checks them in one round and returns the attempts by the step's title. */
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

describe('unusual but complete responses', () => {
  const COMPLETE: Record<string, [Step, string]> = {
    'chunk extensions and trailers': [
      raw(`${OK}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n`),
      'abc',
    ],
    'more bytes than Content-Length': [raw(`${OK}Content-Length: 3\r\n\r\nabcdef`), 'abc'],
    'early hints before the response': [
      raw(`${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(3)}${OK}Content-Length: 3\r\n\r\nabc`),
      'abc',
    ],
    'HTTP/1.0 without a length': [raw('HTTP/1.0 200 OK\r\n\r\nto the end'), 'to the end'],
    'a body after 204': [raw('HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc'), ''],
    'a wrong content encoding': [page('plain', { headers: { 'Content-Encoding': 'gzip' } }), 'plain'],
    'an unknown content encoding': [page('plain', { headers: { 'Content-Encoding': 'x-sealed' } }), 'plain'],
    'no content type and no reason phrase': [raw('HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\nabc'), 'abc'],
    'both Content-Length and chunks': [
      raw(`${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
      'abc',
    ],
    '100 Continue': [raw(`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 3\r\n\r\nabc`), 'abc'],
    '102 without a phrase': [raw(`HTTP/1.1 102\r\n\r\n${OK}Content-Length: 3\r\n\r\nabc`), 'abc'],
    'equal lengths in two headers': [raw(`${OK}Content-Length: 3\r\ncontent-length: 3\r\n\r\nabcd`), 'abc'],
    'equal lengths in one header': [raw(`${OK}Content-Length: 3, 3\r\n\r\nabcd`), 'abc'],
    'lines that end with LF': [raw('HTTP/1.1 200 OK\nContent-Length: 3\n\nabc'), 'abc'],
    'one line that ends with LF': [raw(`${OK}X-A: b\nContent-Length: 3\r\n\r\nabc`), 'abc'],
    'an empty line that ends with LF': [raw(`${OK}Content-Length: 3\r\n\nabc`), 'abc'],
    'chunks whose lines end with LF': [raw(`${OK}Transfer-Encoding: chunked\n\n3\nabc\n0\n\n`), 'abc'],
    'a folded header': [raw(`${OK}X-A: b\r\n\tc\r\n d\r\nContent-Length: 3\r\n\r\nabc`), 'abc'],
    'a folded length': [raw(`${OK}Content-Length:\r\n 3\r\n\r\nabcd`), 'abc'],
    'a space before a colon': [raw(`${OK}Content-Length : 3\r\n\r\nabcd`), 'abc'],
    'a space within a name': [raw(`${OK}X Cache: HIT\r\nContent-Length: 3\r\n\r\nabcd`), 'abc'],
    'a control character in a value': [raw(`${OK}X-A: a\x01\x7fb\r\nContent-Length: 3\r\n\r\nabcd`), 'abc'],
    'a header without a colon': [raw(`${OK}Broken\r\nContent-Length: 3\r\n\r\nabcd`), 'abc'],
    'chunk sizes with blanks around': [
      raw(`${OK}Transfer-Encoding: chunked\r\n\r\n 3  \r\nabc\r\n0000 \r\n\r\n`),
      'abc',
    ],
    'an end right after the last chunk': [
      raw(`${OK}Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n`),
      'abc',
    ],
    'the transfer coding identity': [
      raw(`${OK}Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabcd`),
      'abc',
    ],
    'chunks of HTTP/1.0, which has none': [
      raw('HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabcd'),
      'abc',
    ],
    'a version in lower case': [raw('http/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd'), 'abc'],
    'the version of HTTP/2': [raw('HTTP/2 200\r\nContent-Length: 3\r\n\r\nabcd'), 'abc'],
    'no version': [raw('HTTP 200 Document follows\r\nContent-Length: 3\r\n\r\nabcd'), 'abc'],
    'a radio stream': [raw('ICY 200 OK\r\n\r\nabc'), 'abc'],
    'empty lines before the response': [raw(`\r\n\r\n${OK}Content-Length: 3\r\n\r\nabcd`), 'abc'],
    'two blanks in the status line': [raw('HTTP/1.1  200 OK\r\nContent-Length: 3\r\n\r\nabcd'), 'abc'],
    'gzip as a transfer coding': [
      (socket) => {
        socket.write(`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`);
        const packed = gzipSync('abc');
        socket.end(
          Buffer.concat([
            Buffer.from(`${packed.length.toString(16)}\r\n`),
            packed,
            Buffer.from('\r\n0\r\n\r\n'),
          ]),
        );
      },
      'abc',
    ],
    'gzip as a transfer coding that was not applied': [
      raw(`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
      'abc',
    ],
    'a header that is not ASCII': [raw(`${OK}X-Place: Z\xfcrich\r\nContent-Length: 3\r\n\r\nabc`), 'abc'],
    'a thousand headers': [raw(`${OK}${'X-A: b\r\n'.repeat(1_000)}Content-Length: 3\r\n\r\nabc`), 'abc'],
  };

  test('are stored byte for byte after transfer decoding', async () => {
    const found = await attempts(
      Object.fromEntries(Object.entries(COMPLETE).map(([title, [step]]) => [title, step])),
    );
    const recorded = Object.entries(found).map(([title, attempt]) => [
      title,
      attempt?.error,
      attempt?.sha256,
    ]);
    expect(recorded).toEqual(
      Object.entries(COMPLETE).map(([title, [, body]]) => [title, null, sha256(body)]),
    );
    expect(found['a header that is not ASCII']?.headers).toContainEqual(['X-Place', 'Zürich']);
    // Odd headers are kept as they came.
    expect(found['a folded header']?.headers).toContainEqual(['X-A', 'b c d']);
    expect(found['a space within a name']?.headers).toContainEqual(['X Cache', 'HIT']);
    expect(found['a control character in a value']?.headers).toContainEqual(['X-A', 'a\x01\x7fb']);
    expect(found['the version of HTTP/2']?.connection).toMatchObject({ http: '2' });
  });
});

describe('invalid responses', () => {
  const INVALID: Record<string, [Step, string, number | null]> = {
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
    'a length that is not a number': [raw(`${OK}Content-Length: three\r\n\r\nabc`), 'invalid_response', null],
    'a negative length': [raw(`${OK}Content-Length: -3\r\n\r\nabc`), 'invalid_response', null],
    'a NUL in a header': [raw(`${OK}X-A: a\x00b\r\nContent-Length: 3\r\n\r\nabc`), 'invalid_response', null],
    'a protocol upgrade': [
      raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
      'invalid_response',
      null,
    ],
    'an unknown status': [page('what', { status: 999 }), 'http_error', 999],
    'a status below 100': [raw('HTTP/1.1 042 Odd\r\nContent-Length: 3\r\n\r\nabc'), 'http_error', 42],
    'a status of four digits': [raw('HTTP/1.1 2000 OK\r\n\r\n'), 'invalid_response', null],
    'different lengths in one header': [
      raw(`${OK}Content-Length: 3, 4\r\n\r\nabcd`),
      'invalid_response',
      null,
    ],
    'interim responses without end': [
      raw('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000)),
      'invalid_response',
      null,
    ],
    'damaged gzip as a transfer coding': [
      raw(`${OK}Transfer-Encoding: gzip\r\n\r\n\x1f\x8b\x08 damaged`),
      'invalid_response',
      200,
    ],
    '300 Multiple Choices': [page('choose', { status: 300 }), 'invalid_response', 300],
    'a redirect to an invalid URL': [redirect('http://[::/'), 'invalid_response', 302],
    'a redirect with an empty Location': [redirect(''), 'redirect_loop', 302],
    'a redirect to a script': [redirect('javascript:alert(1)'), 'redirect_refused', 302],
    'a redirect that exceeds the header limit': [
      redirect(`/${'x'.repeat(100_000)}`),
      'invalid_response',
      null,
    ],
    'an end within the headers': [raw(`${OK}Content-Le`), 'connection_reset', null],
    'an invalid status line': [raw('200\r\n\r\n'), 'invalid_response', null],
  };

  test('fail with their error code and are no observations', async () => {
    const found = await attempts(
      Object.fromEntries(Object.entries(INVALID).map(([title, [step]]) => [title, step])),
    );
    const recorded = Object.entries(found).map(([title, attempt]) => [
      title,
      attempt?.error,
      attempt?.status,
    ]);
    const expected = Object.entries(INVALID).map(([title, [, error, status]]) => [title, error, status]);
    expect(recorded).toEqual(expected);
    expect(await node.read('/api/stats')).toMatchObject({ observations: 0, events: 0 });
  });
});

test('a user name and password in a redirect are neither sent nor recorded', async () => {
  const there = web.url('/there').replace('//', '//ada:secret@');
  web.script('/there', page('text'));
  const { from } = await attempts({ from: redirect(there) });
  expect(from).toMatchObject({ error: null, final_url: web.url('/there') });
  expect(web.requests('/there')[0]?.headers).not.toHaveProperty('authorization');
});

test('a redirect to a URL of 60,000 characters is followed', async () => {
  const long = `/${'x'.repeat(60_000)}`;
  web.script(long, page('text'));
  const { from } = await attempts({ from: redirect(long) });
  expect(from).toMatchObject({ error: null, final_url: web.url(long) });
});

describe('a Location that is not ASCII', () => {
  test.each<[string, string, string]>([
    ['UTF-8', Buffer.from('/café?q=ä').toString('latin1'), '/caf%C3%A9?q=%C3%A4'],
    ['ISO-8859-1', '/caf\xe9', '/caf%C3%A9'],
  ])('in %s leads where browsers go', async (_title, location, path) => {
    web.script(path, page('text'));
    const { from } = await attempts({ from: raw(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\n\r\n`) });
    expect(from).toMatchObject({ error: null, final_url: web.url(path) });
  });
});

describe('cookies on the way', () => {
  const wall =
    (to: string, cookie: string): Step =>
    (socket, request) => {
      const isKnown = (request.headers.cookie ?? '').includes('seen=1');
      const answer = isKnown
        ? page('behind')
        : page('', { status: 302, headers: { Location: to, 'Set-Cookie': cookie } });
      return answer(socket, request);
    };

  test('are sent back within a check, and not kept for the next', async () => {
    web.script('/wall', wall('/wall', 'seen=1; Path=/'));
    const { id } = await node.watch(web.url('/wall'));
    for (let round = 0; round < 2; round += 1) await node.check();
    expect(web.requests('/wall').map(({ headers }) => headers.cookie)).toEqual([
      undefined,
      'seen=1',
      undefined,
      'seen=1',
    ]);
    const [attempt] = await node.retrievals(id);
    expect(attempt).toMatchObject({ error: null, sha256: sha256('behind'), redirects: [{ status: 302 }] });
    expect(JSON.stringify(attempt)).not.toContain('seen=1');
  });

  test('are sent neither to other hosts nor to other paths', async () => {
    const other = await ScriptedWeb.open({ host: '127.0.0.2' });
    other.script('/end', page('end'));
    web.script('/a/b', redirect(other.url('/end')));
    const { from } = await attempts({
      from: page('', { status: 302, headers: { Location: '/a/b', 'Set-Cookie': 'seen=1; Path=/c' } }),
    });
    expect(from).toMatchObject({ error: null, final_url: other.url('/end') });
    expect(web.requests('/a/b')[0]?.headers).not.toHaveProperty('cookie');
    expect(other.requests('/end')[0]?.headers).not.toHaveProperty('cookie');
  });

  test('do not hide a loop', async () => {
    const { from, counting } = await attempts({
      from: page('', { status: 302, headers: { Location: '/0', 'Set-Cookie': 'seen=1; Path=/' } }),
      counting: (socket, request) => {
        const n = Number(/n=(\d+)/.exec(request.headers.cookie ?? '')?.[1] ?? 0);
        return page('', { status: 302, headers: { Location: '/1', 'Set-Cookie': `n=${n + 1}; Path=/` } })(
          socket,
          request,
        );
      },
    });
    expect(from).toMatchObject({ error: 'redirect_loop' });
    expect(counting).toMatchObject({ error: 'too_many_redirects' });
  });
});

test('a redirect from a source on this machine to another loopback address is followed', async () => {
  const other = await ScriptedWeb.open({ host: '127.0.0.2' });
  other.script('/page', page('there'));
  const { from } = await attempts({ from: redirect(other.url('/page')) });
  expect(from).toMatchObject({ error: null, final_url: other.url('/page') });
});

test('a response is complete if the server half-closes the connection after it, not before or within it', async () => {
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

test('a connection that the server keeps open does not delay the check', async () => {
  const { keptOpen } = await attempts({
    keptOpen: (socket) => void socket.write(`${OK}Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc`),
  });
  expect(keptOpen).toMatchObject({ error: null, sha256: sha256('abc') });
});

describe('wrong entity tags', () => {
  const served = (body: string, etag: string) => page(body, { headers: { ETag: etag } });

  test('a new tag for the same bytes is no change', async () => {
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

  test('the same tag for other bytes is a change', async () => {
    web.script('/page', served('one', '"1"'), served('two', '"1"'));
    await node.watch(web.url('/page'));
    await node.check();
    await node.check();
    expect(await node.timeline()).toEqual(['first_seen', 'changed']);
  });

  test('a 304 without a conditional request fails, even if an object was observed before', async () => {
    web.script('/page', page('text'), page('', { status: 304 }));
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ failed: 1 });
    expect((await node.retrievals(id)).at(-1)).toMatchObject({ error: 'invalid_response', sha256: null });
  });

  test('a tag that is not a valid header value is not sent back', async () => {
    web.script('/page', raw(`${OK}ETag: "\xff\xfe"\r\nContent-Length: 3\r\n\r\nabc`));
    await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1, failed: 0 });
  });
});
