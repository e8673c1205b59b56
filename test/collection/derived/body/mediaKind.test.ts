import { expect, test } from 'vitest';
import { mediaKind } from '../../../../server/collection/derived/mediaKind.ts';

function kindOf(type: string | null, head: string | Buffer = ''): string {
  return mediaKind(type, Buffer.from(head));
}

test.each([
  ['text/html; charset=utf-8', 'html'],
  ['Text/HTML', 'html'],
  ['application/xhtml+xml', 'html'],
  ['application/pdf', 'pdf'],
  ['application/json;charset=utf-8', 'json'],
  ['application/ld+json', 'json'],
  ['application/geo+json', 'json'],
  ['text/csv', 'csv'],
  ['text/tab-separated-values', 'csv'],
  ['application/rss+xml', 'xml'],
  ['application/atom+xml', 'xml'],
  ['text/xml', 'xml'],
  ['image/svg+xml', 'xml'],
  ['text/plain', 'text'],
  ['text/javascript', 'text'],
  ['application/x-ndjson', 'text'],
  ['image/png', 'image'],
  ['application/zip', 'other'],
  ['application/vnd.ms-excel', 'other'],
  ['video/mp4', 'other'],
])('maps %s to %s', (type, kind) => {
  expect(kindOf(type)).toBe(kind);
});

test.each([
  ['%PDF-1.7', 'pdf'],
  ['\x89PNG\r\n\x1a\n', 'image'],
  ['\xff\xd8\xff\xe0', 'image'],
  ['RIFF\x00\x00\x00\x00WEBP', 'image'],
  ['PK\x03\x04', 'other'],
  ['\x00\x01\x02', 'other'],
  ['\n <!doctype html><p>', 'html'],
  ['<?xml version="1.0"?><rss>', 'xml'],
  ['<?xml version="1.0"?><html>', 'html'],
  [' {"a":1}', 'json'],
  ['Dear reader', 'text'],
  ['\xff\xfeH\x00i\x00', 'text'],
  ['', 'text'],
])('recognises %j without a useful content type by its bytes', (head, kind) => {
  for (const type of [null, '', 'application/octet-stream', 'nonsense'])
    expect(kindOf(type, Buffer.from(head, 'latin1')), String(type)).toBe(kind);
});

test('ignores a text type for a PDF or an image, but not a more specific type', () => {
  expect(kindOf('text/html', '%PDF-1.4')).toBe('pdf');
  expect(kindOf('text/plain', 'GIF89a')).toBe('image');
  expect(kindOf('application/json', 'GIF89a')).toBe('json');
});

test.each([
  ['a mark', '\xef\xbb\xbf%PDF-1.7'],
  ['empty lines', '\r\n\n  %PDF-1.4'],
])('a PDF may begin with %s', (_what, head) => {
  expect(mediaKind('application/octet-stream', Buffer.from(head, 'latin1'))).toBe('pdf');
  expect(mediaKind('text/html', Buffer.from(head, 'latin1'))).toBe('pdf');
});

test('a text about PDF files is none', () => {
  expect(mediaKind('text/plain', Buffer.from('They begin with %PDF-1.7'))).toBe('text');
});
