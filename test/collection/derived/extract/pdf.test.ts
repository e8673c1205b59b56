import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeScriptedWebs } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { japanesePdfOf, pdfOf } from '../../../support/pdf.ts';
import { TextNode } from '../support.ts';

let texts: TextNode;

beforeAll(async () => {
  texts = await TextNode.open();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('extracts the text of a PDF page by page, with its title', async () => {
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

test('recognises a PDF whatever its content type', async () => {
  expect((await texts.textOf(pdfOf(['As a page']), 'text/html')).kind).toBe('pdf');
  expect((await texts.textOf(pdfOf(['As bytes']), 'application/octet-stream')).kind).toBe('pdf');
});

test('decodes character codes with predefined CMaps', async () => {
  const shiftJis = Buffer.from('938c8b9e', 'hex');
  expect((await texts.textOf(japanesePdfOf(shiftJis), 'application/pdf')).text).toBe('東京');
});

test.each([
  ['needs a password', pdfOf(['Secret'], { isEncrypted: true }), 'encrypted'],
  ['is cut', pdfOf(['Cut']).subarray(0, 40), 'damaged'],
  ['is garbage', Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(1_000_000, 'obj << ')]), 'damaged'],
])('reports why a PDF that %s has no text', async (_title, bytes, reason) => {
  const answer = await texts.ask(await texts.archive(bytes, { 'Content-Type': 'application/pdf' }));
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ code: 'not_derivable', reason });
});
