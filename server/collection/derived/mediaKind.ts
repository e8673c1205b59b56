/** How an object is read, independent of its exact type. */
export type MediaKind = 'html' | 'pdf' | 'json' | 'csv' | 'xml' | 'text' | 'image' | 'other';

const BY_TYPE: Readonly<Record<string, MediaKind>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/x-pdf': 'pdf',
  'text/json': 'json',
  'application/json': 'json',
  'application/x-ndjson': 'text',
  'application/jsonl': 'text',
  'text/csv': 'csv',
  'application/csv': 'csv',
  'text/comma-separated-values': 'csv',
  'text/tab-separated-values': 'csv',
  'text/xml': 'xml',
  'application/xml': 'xml',
  'application/xml-dtd': 'text',
  'text/javascript': 'text',
  'application/javascript': 'text',
  'application/ecmascript': 'text',
  'application/yaml': 'text',
  'application/x-yaml': 'text',
  'application/toml': 'text',
  'application/sql': 'text',
};

/** Types that say nothing about the content, so that the first bytes decide. */
const UNINFORMATIVE_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/download',
  'application/force-download',
  'application/x-download',
  'unknown/unknown',
]);

/**
 * Returns the kind of an object by its recorded content type or, if that is uninformative, by its first bytes (decoded,
 * ideally 1,024 of them). The bytes also decide for PDFs and images sent as a text type: many servers label everything
 * `text/html`.
 */
export function mediaKind(contentType: string | null, head: Uint8Array): MediaKind {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const magic = kindByMagic(head);
  if (UNINFORMATIVE_TYPES.has(type) || !type.includes('/')) return magic ?? kindByText(head);
  if (magic !== undefined && (type.startsWith('text/') || type === 'application/xhtml+xml')) return magic;
  const known = BY_TYPE[type];
  if (known !== undefined) return known;
  if (type.endsWith('+json')) return 'json';
  if (type.startsWith('image/') && type !== 'image/svg+xml') return 'image';
  if (type.endsWith('+xml')) return 'xml';
  return type.startsWith('text/') ? 'text' : 'other';
}

/** Readers of PDF accept its header within the first 1,024 bytes. Some programs write a mark or empty lines before it. */
const PDF_AFTER_BLANKS = /^[\s\0\xef\xbb\xbf]{1,1019}%PDF-/;

const MAGIC: readonly (readonly [MediaKind, string])[] = [
  ['pdf', '%PDF-'],
  ['image', '\x89PNG\r\n\x1a\n'],
  ['image', '\xff\xd8\xff'],
  ['image', 'GIF87a'],
  ['image', 'GIF89a'],
  ['other', 'PK\x03\x04'],
  ['other', '\x1f\x8b'],
];

function kindByMagic(head: Uint8Array): MediaKind | undefined {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (/^RIFF....WEBP/s.test(text)) return 'image';
  if (PDF_AFTER_BLANKS.test(Buffer.from(head.subarray(0, 1024)).toString('latin1'))) return 'pdf';
  return MAGIC.find(([, start]) => text.startsWith(start))?.[0];
}

/** Control characters that do not occur in text (binary data bytes of the WHATWG MIME Sniffing Standard). */
const BINARY = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

function kindByText(head: Uint8Array): MediaKind {
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  const text = new TextDecoder(isUtf16 ? (head[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8')
    .decode(head.subarray(0, 1024))
    .trimStart();
  if (BINARY.test(text)) return 'other';
  if (/^<(!doctype\s+html|html|head|body|title|script|style|div|p|h1|table|a|br|!--)[\s>]/i.test(text))
    return 'html';
  if (/^<\?xml[\s?]/i.test(text)) return /<html[\s>]/i.test(text) ? 'html' : 'xml';
  if (/^[{[]/.test(text)) return 'json';
  return 'text';
}
