import { hash } from 'node:crypto';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, gateTo, openBrowser, ScriptedGate, SVG, VIDEO } from './support.ts';

/* The picture, the text and the document of a page show the same. Each is compared with a page that says how it must look. */
let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
});

/** How many pixels differ, by more than edges that are smoothed a little differently. */
function differentPixels(left: Buffer, right: Buffer): number {
  const [a, b] = [PNG.sync.read(left), PNG.sync.read(right)];
  expect([b.width, b.height]).toEqual([a.width, a.height]);
  let different = 0;
  for (let at = 0; at < a.data.length; at += 4)
    if ([0, 1, 2].some((channel) => Math.abs((a.data[at + channel] ?? 0) - (b.data[at + channel] ?? 0)) > 64))
      different += 1;
  return different;
}

describe('without its scripts, the document shows what the page showed', () => {
  test.each<[what: string, html: string]>([
    [
      'canvases, at their place',
      `<!doctype html><style>canvas { position: absolute; left: 90px; width: 50%; height: 80px; opacity: 0.5 }
        #b { position: static; width: auto; height: auto; border: 5px solid; padding: 9px; transform: rotate(30deg) }</style>
        <canvas id="a"></canvas><canvas id="b" width="99" height="50">no</canvas><p>after</p><script>
        const g = b.getContext('2d'); g.fillStyle = 'tomato'; g.fillRect(9, 9, 60, 30);
        const w = a.getContext('webgl'); w.clearColor(0, 0, 1, 1); w.clear(w.COLOR_BUFFER_BIT)</script>`,
    ],
    [
      'style sheets for other media, and those that are off',
      `<!doctype html><style media="print">p { color: red }</style><style id="s">p { background: yellow }</style><p>text
        <script>s.sheet.disabled = true; const sheet = new CSSStyleSheet({ media: 'print' });
        sheet.replaceSync('p { border: 9px solid }'); document.adoptedStyleSheets = [sheet]</script>`,
    ],
    [
      'styles of a shadow tree in their order',
      `<!doctype html><div id="d"></div><script>const root = d.attachShadow({ mode: 'closed' });
        root.innerHTML = '<style>p { background: red }</style><p>text'; const sheet = new CSSStyleSheet();
        sheet.replaceSync('p { background: green }'); root.adoptedStyleSheets = [sheet]</script>`,
    ],
    [
      'a page without a doctype',
      '<style>td { border: 1px solid } div { width: 90; height: 50; background: red }</style><table height="100%"><tr><td>high</table><div></div>',
    ],
    [
      'a page with a doctype of the last century',
      '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd"><table border="1" cellspacing="0" cellpadding="0"><tr><td><img src="/image.svg"><tr><td><img src="/image.svg"></table>',
    ],
    [
      'buttons, and text that begins with an empty line',
      '<!doctype html><input type="submit"><input type="reset"><input type="button" value="own"><textarea id="t"></textarea><script>t.value = "\\n\\nthird"</script>',
    ],
    [
      'images that only the page has, and the one of a picture',
      `<!doctype html><img id="i"><picture><source srcset="/image.svg"><img src="/other.svg"></picture><script>
        i.src = URL.createObjectURL(new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="15" height="15" fill="red"/></svg>'], { type: 'image/svg+xml' }))</script>`,
    ],
    [
      'what lies above the page',
      `<!doctype html><style>::backdrop { display: none }</style><div style="position: absolute; z-index: 9; background: gold; width: 100%; height: 500px"></div>
        <div popover id="p">shown</div><div popover>no</div><dialog id="d">modal</dialog><script>p.showPopover(); d.showModal(); document.activeElement.blur()</script>`,
    ],
    [
      'frames of frame sets',
      '<frameset cols="30%,70%"><frame src="/frame?100%25#x"><frameset rows="50%,50%"><frame src="/frame"><frame src="https://other.example/frame"></frameset></frameset>',
    ],
    [
      'documents and drawings in objects',
      '<!doctype html><object data="/frame" type="text/html"></object><object data="/image.svg" type="image/svg+xml"></object><embed src="/image.svg">',
    ],
  ])('%s', async (_what, html) => {
    const gateOf = (page: string) =>
      new ScriptedGate(({ isMainDocument, url }) => {
        if (isMainDocument) return answer(page);
        return url.endsWith('svg')
          ? answer(SVG, 'image/svg+xml')
          : answer(`<body style="background: #eef"><p class="a b">#1 "100%"\n&amp; more: é`);
      });
    const page = await browser.draw(gateOf(html));
    const shown = await browser.draw(gateOf(page.document));
    expect(shown.text).toBe(page.text);
    expect(differentPixels(page.picture, shown.picture)).toBe(0);
  });
});

test('the picture shows what is drawn only near the window, and what appears when it is scrolled to', async () => {
  const red = 'height: 100px; background: red';
  const plain = `<!doctype html><style>body { margin: 0 }</style><div style="height: 3000px"></div><div style="${red}"></div><div style="${red}"></div>`;
  const html = `<!doctype html><style>body { margin: 0 } section { content-visibility: auto; contain-intrinsic-height: 90px }
    @keyframes appear { from { opacity: 0 } } .late { animation: appear linear both; animation-timeline: view(); animation-range: entry }</style>
    <div style="height: 3000px"></div><section><div style="${red}"></div></section><div class="late" style="${red}"></div>`;
  const [expected, drawn] = [await browser.draw(gateTo(plain)), await browser.draw(gateTo(html))];
  expect(hash('sha256', drawn.picture, 'hex')).toBe(hash('sha256', expected.picture, 'hex'));
});

/** The colour of a pixel of a picture, such as `255,0,0`. */
function colourAt(picture: Buffer, x: number, y: number): string {
  const { data, width } = PNG.sync.read(picture);
  return data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3).join();
}

describe('text and picture are of the same state', () => {
  test('of a page that observes what is shown for the picture', async () => {
    const html = `<!doctype html><style>body { margin: 0 } div { width: 300px; height: 300px }</style>
      <div id="a">before</div><div id="b" style="display: none; background: red">after</div>
      <div id="s" style="content-visibility: auto">tail</div><script>
      new MutationObserver(() => { a.remove(); b.style.display = 'block' }).observe(s, { attributes: true })</script>`;
    const { text, picture } = await browser.draw(gateTo(html));
    expect(colourAt(picture, 150, 150)).toBe(text.includes('after') ? '255,0,0' : '255,255,255');
  });

  test('of a page that a worker changes all the time', async () => {
    const html = `<!doctype html><p id="p">0<script>
      new Worker(URL.createObjectURL(new Blob(['let n = 0; setInterval(() => postMessage(n++), 1)']))).onmessage = ({ data }) => {
        p.textContent = data; document.body.style.background = 'rgb(' + [data % 256, data >> 8, 0] + ')' }</script>`;
    const { text, picture } = await browser.draw(gateTo(html));
    expect(Number(text)).toBeGreaterThan(0);
    expect(colourAt(picture, 700, 500)).toBe([Number(text) % 256, Number(text) >> 8, 0].join());
  });

  test('they are those of a page with scripts, though no script runs any more', async () => {
    const html = `<!doctype html><style>@layer x { @media screen and (scripting: none) { #a { color: blue; display: none } } }
      @media (scripting) { #b { color: green } } noscript { display: block; height: 500px; background: red }</style>
      <p id="a">first<p id="b">second<noscript>no</noscript><section style="content-visibility: auto"><noscript>no</noscript>
      <canvas id="c" width="50" height="50">no</canvas></section><script>c.getContext('2d').fillRect(0, 0, 50, 50)</script>`;
    const plain = `<!doctype html><p>first<p style="color: green">second<section style="contain: content"><canvas id="c" width="50" height="50"></canvas></section>
      <script>c.getContext('2d').fillRect(0, 0, 50, 50)</script>`;
    const [drawn, expected] = [await browser.draw(gateTo(html)), await browser.draw(gateTo(plain))];
    expect(drawn.text).toBe('first\nsecond\n');
    expect(differentPixels(drawn.picture, expected.picture)).toBe(0);
  });
});

test('what moves is shown as a person sees it: faded in, words at rest, no circle over a video', async () => {
  const gate = (html: string) =>
    new ScriptedGate(({ isMainDocument }) =>
      isMainDocument
        ? answer(`<!doctype html><style>body { margin: 0 }</style>${html}`)
        : answer(VIDEO, 'video/webm'),
    );
  const faded = `<div id="d"></div><script>d.attachShadow({ mode: 'open' }).innerHTML = '<style>@keyframes f { from { opacity: 0 } } div { height: 99px; background: red; animation: f 60s both }</style><div></div>'</script>`;
  expect(colourAt((await browser.draw(gate(faded))).picture, 50, 50)).toBe('255,0,0');
  const [moving, resting] = [
    await browser.draw(gate('<marquee>Breaking news</marquee>')),
    await browser.draw(gate('<div>Breaking news</div>')),
  ];
  expect(differentPixels(moving.picture, resting.picture)).toBe(0);
  const video = (controls: string) => `<video src="/video" ${controls} width="320" height="180"></video>`;
  const { picture } = await browser.draw(gate(video('controls')));
  const { width, data } = PNG.sync.read(picture);
  // Above the controls there is only the video, which is red.
  let darkest = 255;
  for (let y = 20; y < 80; y += 1)
    for (let x = 100; x < 220; x += 1) darkest = Math.min(darkest, data[(y * width + x) * 4] ?? 0);
  expect(darkest).toBeGreaterThan(200);
});

test('what is drawn only near the window keeps its place: margins, absolute boxes, overflow', async () => {
  const section = (
    style: string,
  ) => `<!doctype html><style>section { margin: 20px; background: #efe; ${style} }</style>
    <div style="height: 3000px"></div>${`<section><p style="margin: 50px 0">first</p><div style="position: absolute; top: 0; left: 300px; background: red">absolute</div>
    <div style="margin-left: -60px; background: blue">out</div><p style="margin: 50px 0">last</p></section>`.repeat(
      3,
    )}<p>end`;
  const [plain, drawn] = [
    await browser.draw(gateTo(section('contain: layout style paint'))),
    await browser.draw(gateTo(section('content-visibility: auto; contain-intrinsic-size: 7px 777px'))),
  ];
  expect(differentPixels(drawn.picture, plain.picture)).toBe(0);
  expect(drawn.document).not.toContain('style="contain');
});
