import { afterEach, describe, expect, test } from 'vitest';
import {
  MAX_LIST_BYTES,
  MAX_LIST_ENTRIES,
  type SourceImport,
  type WatchedSource,
} from '../../../shared/collection/source.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

function send(node: TestNode, mediaType: string, body: string | Buffer<ArrayBuffer>): Promise<Response> {
  const headers = { 'Content-Type': mediaType };
  return node.fetchAsOwner('/manage/sources/import', { method: 'POST', headers, body });
}

async function imported(
  node: TestNode,
  mediaType: string,
  body: string | Buffer<ArrayBuffer>,
): Promise<SourceImport> {
  const response = await send(node, mediaType, body);
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as SourceImport;
}

async function watched(node: TestNode): Promise<WatchedSource[]> {
  const response = await node.fetchAsOwner('/manage/sources?limit=500');
  return ((await response.json()) as { items: WatchedSource[] }).items.reverse();
}

describe('a list of sources', () => {
  test('as text has one URL per line, and the result has the outcome of each', async () => {
    const node = await openTestNode();
    const before = await node.sendJson('POST', '/manage/sources', { url: 'https://a.example/' });
    const { id } = (await before.json()) as { id: string };
    const text =
      '\ufeff# ours\r\n\r\nHTTPS://A.example:443\r\n  https://b.example/x?y#z  \nftp://c.example/\nhttps://b.example/x?y';
    const { items, ...counts } = await imported(node, 'text/plain; charset=utf-8', text);
    expect(counts).toEqual({ added: 1, already: 2, refused: 1, ignored_columns: [] });
    const added = (await watched(node)).find(({ url }) => url === 'https://b.example/x?y')?.id;
    expect(items).toEqual([
      { line: 3, url: 'HTTPS://A.example:443', outcome: 'already', source: id },
      { line: 4, url: 'https://b.example/x?y#z', outcome: 'added', source: added },
      {
        line: 5,
        url: 'ftp://c.example/',
        outcome: 'refused',
        code: 'invalid_field',
        detail: 'url: Enter an absolute http or https URL.',
      },
      { line: 6, url: 'https://b.example/x?y', outcome: 'already', source: added },
    ]);
  });

  test('as bookmarks of a browser has names, and folders as tags', async () => {
    const node = await openTestNode();
    const bookmarks = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1>
<DL><p>
  <DT><H3 ADD_DATE="1">Sea &amp; tides</H3>
  <DL><p>
    <DT><A HREF="https://a.example/?x=1&amp;y=2" ADD_DATE="1" TAGS="daily,Sea &amp; tides">Levels
 today</A>
    <DT><H3>Old</H3>
    <DL><p><DT><A HREF="https://b.example/">${'b'.repeat(300)}</A></DL><p>
  </DL><p>
  <DT><A HREF="javascript:alert(1)">Bookmarklet</A>
  <DD>No <A>link</A>
  <DT><A HREF="https://c.example/">C</A>
</DL>`;
    const { items, ...counts } = await imported(node, 'text/html', bookmarks);
    expect(counts).toMatchObject({ added: 3, refused: 1 });
    expect(items.map(({ line }) => line)).toEqual([7, 10, 12, 14]);
    expect((await watched(node)).map(({ url, name, tags }) => [url, name, tags])).toEqual([
      ['https://a.example/?x=1&y=2', 'Levels today', ['Sea & tides', 'daily']],
      ['https://b.example/', 'b'.repeat(200), ['Sea & tides', 'Old']],
      ['https://c.example/', 'C', []],
    ]);
    const page = await send(node, 'text/html', '<!DOCTYPE html><a href="https://d.example/">d</a>');
    expect(page.status).toBe(422);
  });

  test('as CSV sets the fields that its columns name', async () => {
    const node = await openTestNode();
    const csv =
      'Name,URL,Tags,agency,every_minutes,ignore_robots,notes\r\n' +
      '"River, levels",https://a.example/,water; daily | north,Survey,30,TRUE,mine\r\n' +
      '"Two\nlines",https://b.example/,,,,,\r\n' +
      'Often,https://c.example/,,,0,,\r\n';
    const { items, ...counts } = await imported(node, 'text/csv', csv);
    expect(counts).toEqual({ added: 2, already: 0, refused: 1, ignored_columns: ['notes'] });
    expect(items.map(({ line }) => line)).toEqual([2, 4, 5]);
    expect(items[2]?.detail).toBe('every_minutes: At least 1 minute.');
    const [first] = await watched(node);
    expect(first).toMatchObject({
      name: 'River, levels',
      agency: 'Survey',
      tags: ['water', 'daily', 'north'],
      every_minutes: 30,
      ignore_robots: true,
    });
  });

  test('as OPML uses the folders around a source as its tags', async () => {
    const node = await openTestNode();
    const opml = `<?xml version="1.0"?>
<opml version="2.0"><head><title>All</title></head><body>
  <outline text="Water">
    <outline text="Levels">
      <outline type="rss" title="Rhine &amp; Main" text="r" xmlUrl="https://a.example/feed?x=1&amp;y=2"/>
    </outline>
    <outline text="Plain" htmlUrl="https://b.example/"/>
  </outline>
  <!-- <outline url="https://hidden.example/"/> -->
  <outline text="&#82;oot" url="https://c.example/"/>
</body></opml>`;
    const { items, added } = await imported(node, 'text/x-opml', opml);
    expect(added).toBe(3);
    expect(items.map(({ line }) => line)).toEqual([5, 7, 10]);
    const found = (await watched(node)).map(({ url, name, tags }) => ({ url, name, tags }));
    expect(found).toEqual([
      { url: 'https://a.example/feed?x=1&y=2', name: 'Rhine & Main', tags: ['Water', 'Levels'] },
      { url: 'https://b.example/', name: 'Plain', tags: ['Water'] },
      { url: 'https://c.example/', name: 'Root', tags: [] },
    ]);
    expect((await imported(node, 'application/xml', opml)).already).toBe(3);
  });

  test('as text may have several URLs on a line, and refuses words beside one', async () => {
    const node = await openTestNode();
    const text =
      'https://a.example/ https://b.example/1\thttps://c.example/\nhttps://d.example/, https://e.example/x,y\nhttps://f.example/my file.pdf\nThe river https://g.example/';
    const { items } = await imported(node, 'text/plain', text);
    expect(items.map(({ line, url, outcome }) => [line, url, outcome])).toEqual([
      [1, 'https://a.example/', 'added'],
      [1, 'https://b.example/1', 'added'],
      [1, 'https://c.example/', 'added'],
      [2, 'https://d.example/', 'added'],
      [2, 'https://e.example/x,y', 'added'],
      [3, 'https://f.example/my file.pdf', 'refused'],
      [4, 'The river https://g.example/', 'refused'],
    ]);
    expect(items[5]?.detail).toMatch(/words besides the URL.*%20/);
  });

  test.each([
    ['semicolons', 'Name;URL;Tags\r\nTides;https://a.example/?x=1,2;daily|sea\r\n'],
    ['tabs', 'name\turl\ttags\nTides\thttps://a.example/?x=1,2\tdaily;sea\n'],
    ['bars', 'name|url|tags\nTides|https://a.example/?x=1,2|daily;sea\n'],
    ['sep=', 'sep=;\r\nname;url;tags\r\nTides;https://a.example/?x=1,2;daily|sea\r\n'],
    [
      'a byte order mark and quotes',
      '\ufeff"sep=;"\r\n"name";"url";"tags"\r\nTides;https://a.example/?x=1,2;daily|sea',
    ],
    ['a title', 'Our sources, all of them\n\nname;url;tags\nTides;https://a.example/?x=1,2;daily|sea\n'],
    ['comments', '# url, name\nname;url;tags\nTides;https://a.example/?x=1,2;daily|sea\n'],
    [
      'UTF-16',
      Buffer.from('\ufeffname\turl\ttags\r\nTides\thttps://a.example/?x=1,2\tdaily;sea\r\n', 'utf16le'),
    ],
  ])('as CSV is read as spreadsheets save it, with %s', async (_, csv) => {
    const node = await openTestNode();
    const { added, items } = await imported(node, 'text/csv', csv);
    expect(added, JSON.stringify(items)).toBe(1);
    expect(items[0]?.line).toBe(
      csv
        .toString('utf8')
        .split('\n')
        .findIndex((line) => /T.?i.?d.?e.?s/.test(line)) + 1,
    );
    expect(await watched(node)).toMatchObject([
      { url: 'https://a.example/?x=1,2', name: 'Tides', tags: ['daily', 'sea'] },
    ]);
  });

  test('as CSV refuses a line whose URL was split at a delimiter', async () => {
    const node = await openTestNode();
    const { items } = await imported(
      node,
      'text/csv',
      'url\nhttps://a.example/x,y\n"https://b.example/x,y"\n',
    );
    expect(items.map(({ outcome }) => outcome)).toEqual(['refused', 'added']);
    expect(items[0]?.detail).toMatch(/more cells than the header/);
  });

  test('as bookmarks goes by lines, whatever the descriptions hold', async () => {
    const node = await openTestNode();
    const hazards = [
      '<script>',
      '<style>',
      '<textarea>',
      '<title>',
      '<xmp>',
      '<!-- note',
      '<plaintext>',
      '<a "',
      '</dl> and <dl>',
    ];
    const bookmarks = `<DL><p>
<DT><H3>About <style> and <script></H3>
<DL><p>
${hazards.map((hazard, index) => `<DT><A HREF="https://a.example/${index}">The ${hazard} tag</A>\n<DD>about ${hazard}\nand ${hazard}`).join('\n')}
</DL><p>
<DT><A href=https://b.example/last/ ADD_DATE=1>Last</A>
<DT><A HREF="https://c.example/
<DT><A NAME="x">No address</A>
</DL>`;
    const { items, added } = await imported(node, 'text/html', bookmarks);
    expect(added, JSON.stringify(items)).toBe(hazards.length + 1);
    expect(items.slice(-2)).toMatchObject([
      { outcome: 'refused', detail: expect.stringContaining('its tag has no end') },
      { outcome: 'refused', url: 'No address', detail: 'The bookmark has no address.' },
    ]);
    const sources = await watched(node);
    expect(sources.map(({ url, name, tags }) => [url, name, tags])).toEqual([
      ...hazards.map((hazard, index) => [
        `https://a.example/${index}`,
        `The ${hazard} tag`,
        ['About <style> and <script>'],
      ]),
      ['https://b.example/last/', 'Last', []],
    ]);
  });

  test('as bookmarks may be on one line', async () => {
    const node = await openTestNode();
    const bookmarks =
      '<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Sea</H3><DL><p><DT><A HREF="https://a.example/">A</A><DD>a <b>bold</b> note<DT><A HREF="https://b.example/?a=1&copy=2">B</A></DL><p><DT><A HREF="https://c.example/">C</A></DL><p>';
    await imported(node, 'text/html', bookmarks);
    expect((await watched(node)).map(({ url, tags }) => [url, tags])).toEqual([
      ['https://a.example/', ['Sea']],
      ['https://b.example/?a=1&copy=2', ['Sea']],
      ['https://c.example/', []],
    ]);
  });

  test('as OPML may have attributes without quotes and signs that are not escaped', async () => {
    const node = await openTestNode();
    const opml = `<opml version=2.0><body>
<outline text=Water>
<outline text=Rhine xmlUrl=https://a.example/feed?x=1&y=2 />
<outline title='R & M' xmlurl=https://b.example/feed/>
<outline text="Plain" htmlUrl="https://c.example/" />
</outline>
<OUTLINE TEXT=Root URL=https://d.example/></OUTLINE>
<outline url=https://e.example/x/ text=Last/></body></opml>`;
    const { items } = await imported(node, 'text/x-opml', opml);
    expect(items.map(({ line }) => line)).toEqual([3, 4, 5, 7, 8]);
    expect((await watched(node)).map(({ url, name, tags }) => [url, name, tags])).toEqual([
      ['https://a.example/feed?x=1&y=2', 'Rhine', ['Water']],
      ['https://b.example/feed', 'R & M', ['Water']],
      ['https://c.example/', 'Plain', ['Water']],
      ['https://d.example/', 'Root', []],
      ['https://e.example/x/', 'Last', []],
    ]);
  });

  test.each([
    [
      'text/x-opml',
      '<?xml version="1.0" encoding="ISO-8859-1"?><opml><body><outline url="https://a.example/" text="M\xfcnde"/></body></opml>',
    ],
    [
      'text/html',
      '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1252">\n<DL><p>\n<DT><A HREF="https://a.example/">M\xfcnde</A>',
    ],
  ])('as %s is read in the encoding that it declares', async (mediaType, list) => {
    const node = await openTestNode();
    await imported(node, mediaType, Buffer.from(list, 'latin1'));
    expect(await watched(node)).toMatchObject([{ name: 'Münde' }]);
  });

  test('that cannot be read adds nothing', async () => {
    const node = await openTestNode();
    const bomb =
      '<!DOCTYPE opml [<!ENTITY a "aaaa">]><opml><body><outline url="https://a.example/"/></body></opml>';
    const refused: [string, string | Buffer<ArrayBuffer>][] = [
      ['text/plain', Buffer.from([0x68, 0xff, 0xfe])],
      ['text/csv', 'name,agency\nhttps://a.example/,b\n'],
      ['text/csv', 'url,url\nhttps://a.example/,b\n'],
      ['text/csv', 'url\n"https://a.example/'],
      ['text/x-opml', '<opml><body>'],
      ['text/x-opml', '<rss><outline url="https://a.example/"/></rss>'],
      ['text/x-opml', bomb],
      ['text/plain', 'https://a.example/\n'.repeat(MAX_LIST_ENTRIES + 1)],
    ];
    for (const [mediaType, body] of refused) {
      const response = await send(node, mediaType, body);
      expect(response.status, String(body).slice(0, 60)).toBe(422);
      expect(await response.json()).toMatchObject({ code: 'invalid_list' });
    }
    expect((await send(node, 'application/json', '{}')).status).toBe(415);
    expect((await send(node, 'text/plain', Buffer.alloc(MAX_LIST_BYTES + 1, 35))).status).toBe(413);
    expect(await watched(node)).toEqual([]);
  });

  test('is accepted only from the owner', async () => {
    const node = await openTestNode();
    const init = { method: 'POST', body: 'https://a.example/', headers: { 'Content-Type': 'text/plain' } };
    expect((await node.fetch('/manage/sources/import', init)).status).toBe(401);
  });
});

describe('a long list', () => {
  test('has its first checks spread over time, and its entries are in the ledger', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    const urls = Array.from({ length: 1_000 }, (_, index) => `https://h${index}.example/`);
    expect((await imported(node, 'text/plain', urls.join('\n'))).added).toBe(1_000);
    const due = (await watched(node)).map(
      ({ next_check_at }) => Date.parse(next_check_at ?? '') - clock.now(),
    );
    expect(Math.min(...due)).toBeGreaterThanOrEqual(60_000);
    expect(Math.max(...due)).toBeLessThanOrEqual(60_000 + 500_000);
    expect(new Set(due).size).toBe(due.length);
    const ledger = (await (await node.fetch('/api/ledger/verify')).json()) as { ok: boolean; size: number };
    expect(ledger).toMatchObject({ ok: true, size: 1_000 });
  });

  test('does not block other requests', async () => {
    const node = await openTestNode();
    // Most are repeated: to find a source takes a tenth of adding it, and both happen between other requests.
    const added = 2_000;
    const urls = Array.from({ length: MAX_LIST_ENTRIES }, (_, index) => `https://h${index % added}.example/`);
    let done = false;
    const importing = imported(node, 'text/plain', urls.join('\n')).finally(() => (done = true));
    let responses = 0;
    for (; !done; responses += 1) await node.fetch('/api/health');
    expect(await importing).toMatchObject({ added, already: MAX_LIST_ENTRIES - added });
    expect(responses).toBeGreaterThan(50);
  });
});
