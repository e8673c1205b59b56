import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  describePage,
  detectPageLabel,
  type PageResponse,
} from '../../../server/collection/record/quality/judgePage.ts';

function responseOf(page: Partial<PageResponse> & { html?: string } = {}): PageResponse {
  return {
    url: 'https://agency.example/reports/7',
    final_url: page.url ?? 'https://agency.example/reports/7',
    status: 200,
    headers: [],
    content_type: 'text/html; charset=utf-8',
    beginning: Buffer.from(page.html ?? '<title>Report 7</title><p>Its text.'),
    ...page,
  };
}

const titled = (title: string) =>
  responseOf({ html: `<!doctype html><head><title>${title}</title></head><body>Text` });

describe('an error page with status 200', () => {
  test.each([
    'Not Found',
    '404 Not Found',
    '404',
    'Error 404',
    '404 - Page not found',
    'Page not found | Agency',
    'Agency: 404 Not Found',
    'Agency - Page Not Found.',
    '503 Service Unavailable',
    'Internal Server Error',
    'PAGE NOT FOUND',
  ])('is detected by a status phrase as its title: %s', async (title) => {
    expect(await detectPageLabel(titled(title))).toMatchObject({
      label: 'error_page',
      reason: expect.stringContaining(title),
    });
  });
  test('is detected by a redirect to the host’s front page', async () => {
    expect(await detectPageLabel(responseOf({ final_url: 'https://www.agency.example/' }))).toEqual({
      label: 'error_page',
      reason: 'Redirected to the front page of www.agency.example',
    });
  });
  test.each([
    'Report 7',
    '404 species of beetle',
    'Gone with the Wind',
    'Conflict',
    'How to fix “404 Not Found” errors in nginx',
    'Unauthorized biography',
    '500 days of summer',
    'Highway 404',
  ])('is not detected by a similar title: %s', async (title) => {
    expect(await detectPageLabel(titled(title))).toBeNull();
  });
  test.each([
    ['to another page', 'https://agency.example/reports/seven'],
    ['to the front page of another site', 'https://other.example/'],
    ['to a search on the front page', 'https://agency.example/?q=7'],
  ])('is not detected by a redirect %s', async (_title, final_url) => {
    expect(await detectPageLabel(responseOf({ final_url }))).toBeNull();
  });
  test('is not detected if the front page itself was requested', async () => {
    const front = { url: 'http://agency.example/', final_url: 'https://agency.example/' };
    expect(await detectPageLabel(responseOf(front))).toBeNull();
  });
  test('is not detected in a response with an error status', async () => {
    expect(await detectPageLabel({ ...titled('404 Not Found'), status: 404 })).toBeNull();
  });
});

describe('a bot wall', () => {
  test.each([
    'Just a moment...',
    'Attention Required! | Cloudflare',
    'Access Denied',
    'Pardon Our Interruption',
    'Are you a robot?',
    'Verify you are human',
    'Security check',
    'CAPTCHA',
  ])('is detected by its title: %s', async (title) => {
    expect(await detectPageLabel(titled(title))).toMatchObject({
      label: 'bot_wall',
      reason: expect.stringContaining(title),
    });
  });
  test.each([
    ['cf-mitigated', 'challenge', 403],
    ['x-amzn-waf-action', 'captcha', 405],
    ['x-datadome', 'protected', 403],
  ])('is detected by the header %s, with any status', async (name, value, status) => {
    expect((await detectPageLabel(responseOf({ headers: [[name, value]], status })))?.label).toBe('bot_wall');
  });
  test('is detected by markup that only the wall contains', async () => {
    const html = '<title>agency.example</title><script>window._cf_chl_opt = {};</script>';
    expect(await detectPageLabel(responseOf({ html }))).toEqual({
      label: 'bot_wall',
      reason: 'The page is a Cloudflare challenge',
    });
  });
  test('is detected by a typical sentence on a short page', async () => {
    const html = '<body>Checking your browser before accessing agency.example.';
    expect((await detectPageLabel(responseOf({ html })))?.label).toBe('bot_wall');
    expect(
      await detectPageLabel(responseOf({ html: `${html}${' A long article follows.'.repeat(200)}` })),
    ).toBeNull();
  });
  test('is not detected in a page that such a service only protects', async () => {
    const html =
      '<title>Report 7</title><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>';
    expect(
      await detectPageLabel(
        responseOf({
          html,
          headers: [
            ['server', 'cloudflare'],
            ['cf-ray', '1'],
          ],
        }),
      ),
    ).toBeNull();
  });
});

describe('the title', () => {
  test('is read from encoded and from incomplete bodies', async () => {
    const html = `<title>404 Not Found</title>${Array.from({ length: 20_000 }, (_, line) => `<p>${line * line}</p>`).join('')}`;
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(html)],
      ['br', brotliCompressSync(html)],
    ] as const) {
      const page = responseOf({
        beginning: bytes.subarray(0, bytes.length / 2),
        headers: [['Content-Encoding', encoding]],
      });
      expect((await detectPageLabel(page))?.label).toBe('error_page');
    }
  });
  test('is decoded from its charset and character references', async () => {
    const beginning = Buffer.from('<title>Caf\xe9 &amp; B&uuml;cher</title>', 'latin1');
    const page = responseOf({ content_type: 'text/html; charset=iso-8859-1', beginning });
    expect(await describePage(page)).toEqual({ page_label: null, title: 'Café & Bücher' });
  });
  test.each([
    ['bytes with a wrong encoding', { headers: [['content-encoding', 'gzip'] as [string, string]] }],
    ['an unknown charset', { content_type: 'text/html; charset=klingon' }],
    ['another type than HTML', { content_type: 'application/pdf', html: '<title>Not Found</title>' }],
    ['unclosed tags', { html: `${'<title '.repeat(5_000)}${'<script '.repeat(5_000)}${'<'.repeat(10_000)}` }],
    ['no bytes', { beginning: Buffer.alloc(0) }],
  ])('of %s causes neither a label nor an error', async (_title, page) => {
    expect(await detectPageLabel(responseOf(page))).toBeNull();
  });
});
