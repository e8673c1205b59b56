import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { japanesePdfOf, pdfOf } from '../../support/pdf.ts';
import { closeScriptedWebs } from '../../support/scriptedWeb.ts';
import { TextNode } from './support.ts';

let texts: TextNode;

beforeAll(async () => {
  texts = await TextNode.open();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('the text of a PDF is told page by page, with its title', async () => {
  const bytes = pdfOf(['Sea level (2026)', 'It rose.'], { title: 'Tides' });
  expect(await texts.textOf(bytes, 'application/pdf')).toMatchObject({
    kind: 'pdf',
    title: 'Tides',
    text: 'Sea level (2026)\n\f\nIt rose.',
    pages: 2,
    links: [],
    truncated: false,
    derived: { tool: 'strongroom-pdf-text', version: expect.stringMatching(/^\d+\+pdfjs-dist\./) },
  });
});

test('a PDF is one, whatever its type says', async () => {
  expect((await texts.textOf(pdfOf(['As a page']), 'text/html')).kind).toBe('pdf');
  expect((await texts.textOf(pdfOf(['As bytes']), 'application/octet-stream')).kind).toBe('pdf');
});

test('codes that only a predefined table explains are read', async () => {
  const shiftJis = Buffer.from('938c8b9e', 'hex');
  expect((await texts.textOf(japanesePdfOf(shiftJis), 'application/pdf')).text).toBe('東京');
});

test.each([
  ['asks for a password', pdfOf(['Secret'], { isEncrypted: true }), 'encrypted'],
  ['is cut', pdfOf(['Cut']).subarray(0, 40), 'damaged'],
  ['is garbage', Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(1_000_000, 'obj << ')]), 'damaged'],
])('a PDF that %s has no text, and it is told why', async (_title, bytes, reason) => {
  const answer = await texts.ask(await texts.archive(bytes, { 'Content-Type': 'application/pdf' }));
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ code: 'not_derivable', reason });
});
