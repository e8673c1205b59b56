import { csvText } from './csvText.ts';
import { decodeText } from './decodeBody.ts';
import type { ExtractedText, Found, TextKind } from './extractedText.ts';
import { htmlText } from './htmlText.ts';
import { jsonText } from './jsonText.ts';
import { MAX_LINKS, MAX_PLAIN_TEXT_BYTES, MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS } from './limits.ts';
import type { MediaKind } from './mediaKind.ts';
import { NotDerivableError } from './notDerivable.ts';
import { pdfText } from './pdfText.ts';
import { xmlText } from './xmlText.ts';

export interface ExtractOptions {
  contentType: string | null;
  /** Whether `bytes` are only the beginning of the object. */
  isCut?: boolean;
}

/**
 * Makes the text of decoded bytes. Knows no database and no file; for the derive worker, as it blocks its process.
 *
 * @throws NotDerivableError `unsupported`, `too_large`, `damaged`, `encrypted`.
 */
export async function extractText(
  kind: MediaKind,
  bytes: Uint8Array,
  { contentType, isCut = false }: ExtractOptions,
): Promise<ExtractedText> {
  const found = await read(kind, bytes, contentType, isCut);
  const text = cleaned(found.text).replace(/^\s*\n|\s+$/g, '');
  return {
    ...found,
    kind: kind as TextKind,
    title:
      found.title === null
        ? null
        : truncateText(found.title.replace(/\s+/g, ' ').trim(), MAX_TITLE_CHARACTERS),
    text: truncateText(text, MAX_TEXT_CHARACTERS),
    ...(found.links && { links: found.links.slice(0, MAX_LINKS) }),
    truncated: found.truncated || isCut || text.length > MAX_TEXT_CHARACTERS,
  };
}

async function read(
  kind: MediaKind,
  bytes: Uint8Array,
  contentType: string | null,
  isCut: boolean,
): Promise<Found> {
  switch (kind) {
    case 'html':
      return htmlText(decodeText(bytes, contentType));
    case 'xml':
      return xmlText(decodeText(bytes, contentType));
    case 'json':
      return jsonText(decodeText(bytes, contentType));
    case 'csv':
      return csvText(plainText(bytes, contentType), contentType);
    case 'text':
      return {
        title: null,
        text: plainText(bytes, contentType),
        truncated: bytes.length > MAX_PLAIN_TEXT_BYTES,
      };
    case 'pdf':
      if (isCut) throw new NotDerivableError('too_large', `The PDF is larger than ${bytes.length} bytes.`);
      return pdfText(bytes);
    case 'image':
      throw new NotDerivableError('unsupported', 'An image has no text that could be read without guessing.');
    case 'other':
      throw new NotDerivableError(
        'unsupported',
        `There is no text to be had of ${contentType ?? 'such bytes'}.`,
      );
  }
}

function plainText(bytes: Uint8Array, contentType: string | null): string {
  return decodeText(bytes.subarray(0, MAX_PLAIN_TEXT_BYTES), contentType);
}

/** Line ends as one character, and neither control characters nor halves of surrogate pairs. */
function cleaned(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]/g, ' ')
    .toWellFormed();
}

/** The beginning of a text; no character is cut in two. */
export function truncateText(text: string, most: number): string {
  if (text.length <= most) return text;
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(most - 1));
  return text.slice(0, isHalf ? most - 1 : most);
}
