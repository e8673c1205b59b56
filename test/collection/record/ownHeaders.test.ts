import { afterEach, describe, expect, test } from 'vitest';
import type { PageCapture, PageList } from '../../../shared/collection/page.ts';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { HTML, seen, titled } from '../../withholding/quotes.ts';
import { foundLinks } from '../follow/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const KEY = 'MARKER/hdr+4711==';
const ROTATED = 'MARKERrotated4712';

interface Watched {
  node: CollectingNode;
  retrieval: Retrieval | undefined;
  id: string;
}

async function watched(web: ScriptedWeb, path: string, fields: object): Promise<Watched> {
  const node = await openCollectingNode();
  const { id } = await node.watch(web.url(path), fields);
  await node.check([id]);
  const [retrieval] = await node.retrievals(id);
  return { node, retrieval, id };
}

const namesOf = (retrieval: Retrieval | undefined) => retrieval?.headers.map(([name]) => name.toLowerCase());

describe('what a site repeats of the owner’s headers is public nowhere', () => {
  test.each(['object', 'page'])(
    'a key in addresses, headers and links, of a source that is captured as %s',
    async (capture) => {
      const web = await ScriptedWeb.open();
      const encoded = encodeURIComponent(KEY);
      const small = encoded.replaceAll('%2F', '%2f').replaceAll('%2B', '%2b').replaceAll('%3D', '%3d');
      web.script('/x', page('', { status: 302, headers: { Location: `/y?key=${KEY}`, 'X-Key': KEY } }));
      web.script(
        `/y?key=${KEY}`,
        page(`${titled('hello', 'no secret in the bytes')}<img src="/z"><script src="/s"></script>`, {
          headers: {
            ...HTML.headers,
            'X-Api-Key': KEY,
            'WWW-Authenticate': `Bearer ${KEY}`,
            Link: `</z?${encoded}>; rel=next`,
            ETag: `"${KEY}"`,
          },
        }),
      );
      web.script('/z', page('', { status: 302, headers: { Location: `/gif?k=${small}` } }));
      web.script(`/gif?k=${small}`, page('gif', { headers: { 'X-Key': KEY } }));
      const script = `history.replaceState(null, '', '/home?' + '${KEY.slice(0, 8)}' + '${KEY.slice(8)}')`;
      web.script('/s', page(script, { headers: { 'Content-Type': 'text/javascript' } }));
      const { node, retrieval, id } = await watched(web, '/x', { headers: { 'X-Api-Key': KEY }, capture });
      expect(web.requests('/x')[0]?.headers['x-api-key']).toBe(KEY);
      expect(retrieval).toMatchObject({ final_url: web.url('/y?key=withheld'), error: null });
      expect(retrieval?.redirects[0]?.headers).toContainEqual(['Location', '/y?key=withheld']);
      // The second request has the ETag.
      await node.check([id]);
      for (const part of [KEY, encoded, small]) expect(await seen(node.node, part)).toEqual([]);
      if (capture === 'object') return;
      const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
      expect(items).not.toEqual([]);
      const captured = await node.read<PageCapture>(`/archive/pages/${items[0]?.id}`);
      expect(captured).toMatchObject({ url: web.url('/home?withheld'), title: 'hello' });
    },
  );

  test.each(['object', 'page'])(
    'the session of a header Cookie, and the one that follows it, of a source that is captured as %s',
    async (capture) => {
      const web = await ScriptedWeb.open();
      const session = 'MARKERsess4711';
      // As Express, PHP and Django do: the same session again, or a new one.
      const again = `session=${session}; Path=/; HttpOnly`;
      web.script(
        '/account',
        page('', {
          status: 302,
          headers: { Location: `/home;jsessionid=${ROTATED}`, 'Set-Cookie': `session=${ROTATED}; Path=/` },
        }),
      );
      web.script(
        `/home;jsessionid=${ROTATED}`,
        page(titled('hello', 'no secret in the bytes'), {
          headers: { ...HTML.headers, 'Set-Cookie': again },
        }),
      );
      const { node, retrieval } = await watched(web, '/account', {
        headers: { Cookie: `lang=en; session=${session}` },
        capture,
      });
      expect(retrieval?.final_url).toBe(web.url('/home;jsessionid=withheld'));
      expect(await seen(node.node, 'MARKER')).toEqual([]);
    },
  );

  test('the password of Basic and the token of Bearer', async () => {
    const web = await ScriptedWeb.open();
    for (const [path, secret, header] of [
      ['/basic', 'MARKER pass', `Basic ${Buffer.from('ada:MARKER pass').toString('base64')}`],
      ['/bearer', 'MARKERtk', 'Bearer MARKERtk'],
    ] as const) {
      const to = `/to?${new URLSearchParams({ secret })}`;
      web.script(path, page('', { status: 302, headers: { Location: to } }));
      web.script(to, page('hello'));
      const { node, retrieval } = await watched(web, path, { headers: { Authorization: header } });
      expect(retrieval?.final_url).toBe(web.url('/to?secret=withheld'));
      expect(await seen(node.node, 'MARKER')).toEqual([]);
    }
  });

  test('and a link with it is not followed', async () => {
    const web = await ScriptedWeb.open();
    web.script('/', page(`<a href="/a?${ROTATED}">A</a><a href="/b">B</a>`, HTML));
    const { node } = await watched(web, '/', {
      headers: { 'X-Api-Key': ROTATED },
      follow: { kind: 'links', limit: 50 },
    });
    expect((await foundLinks(node)).map(({ url }) => url)).toEqual([web.url('/b')]);
  });
});

test('what the site answers to headers that say only what is wanted is recorded as it came', async () => {
  const web = await ScriptedWeb.open();
  web.script('/x', page('', { status: 302, headers: { Location: '/german-DE', 'X-Why': 'language' } }));
  const headers = { 'Set-Cookie': 'seen=one-or-another', 'X-Served-By': 'cache-1', Server: 'german-DE' };
  web.script('/german-DE', page('hallo', { headers }));
  const { retrieval } = await watched(web, '/x', {
    headers: {
      'Accept-Language': 'german-DE',
      Accept: 'text/html;version=20',
      'User-Agent': 'german-DE',
      // As a browser sends them.
      DNT: '1',
      Origin: 'https://german-DE.example',
      'Sec-CH-UA-Platform': '"german-DE"',
      'Sec-Fetch-Dest': 'document',
      'Upgrade-Insecure-Requests': '1',
      'X-Requested-With': 'german-DE',
    },
  });
  expect(retrieval?.final_url).toBe(web.url('/german-DE'));
  expect(retrieval?.headers).toEqual(expect.arrayContaining(Object.entries(headers)));
  expect(retrieval?.redirects[0]?.headers).toContainEqual(['X-Why', 'language']);
});

test('of what is got with other headers, records keep what says how the bytes are to be read', async () => {
  const web = await ScriptedWeb.open();
  const kept = {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    Vary: 'X-Api-Key',
  };
  web.script('/x', page('hello', { headers: { ...kept, 'X-User': 'Ada' } }));
  const { retrieval } = await watched(web, '/x', { headers: { 'X-Api-Key': ROTATED } });
  expect(retrieval?.headers).toEqual(expect.arrayContaining(Object.entries(kept)));
  expect(namesOf(retrieval)).not.toContain('x-user');
  expect(retrieval).toMatchObject({ content_type: 'text/plain; charset=utf-8', final_url: web.url('/x') });
});
