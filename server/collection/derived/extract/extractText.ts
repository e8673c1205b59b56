import { decodeText } from '../body/decodeBody.ts';
import type { MediaKind } from '../body/mediaKind.ts';
import { MAX_LINKS, MAX_PLAIN_TEXT_BYTES, MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS } from '../limits.ts';
import { NotDerivableError } from '../notDerivable.ts';
import { truncateText } from '../truncate.ts';
import { csvText } from './csvText.ts';
import type { ExtractedText, Extraction, TextKind } from './extractedText.ts';
import { htmlText } from './htmlText.ts';
import { jsonText } from './jsonText.ts';
import { pdfText } from './pdfText.ts';
import { xmlText } from './xmlText.ts';

export interface ExtractOptions {
  contentType: string | null;
  /** Whether `bytes` are only the beginning of the object. */
  isCut?: boolean;
}

/**
 * Extracts the text of decoded bytes. Uses no database and no file. Blocks its process; runs in the derive process.
 *
 * @throws NotDerivableError `unsupported`, `too_large`, `damaged`, `encrypted`.
 */
export async function extractText(
  kind: MediaKind,
  bytes: Uint8Array,
  { contentType, isCut = false }: ExtractOptions,
): Promise<ExtractedText> {
  const found = await extractByKind(kind, bytes, contentType, isCut);
  const text = normalizeText(found.text).replace(/^\s*\n|\s+$/g, '');
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

async function extractByKind(
  kind: MediaKind,
  bytes: Uint8Array,
  contentType: string | null,
  isCut: boolean,
): Promise<Extraction> {
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
      throw new NotDerivableError('unsupported', 'Text is not extracted from images.');
    case 'other':
      throw new NotDerivableError(
        'unsupported',
        `Text cannot be extracted from objects of type ${contentType ?? 'unknown'}.`,
      );
  }
}

function plainText(bytes: Uint8Array, contentType: string | null): string {
  return decodeText(bytes.subarray(0, MAX_PLAIN_TEXT_BYTES), contentType);
}

/** Normalises line ends to `\n` and removes control characters and unpaired surrogates. */
function normalizeText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]/g, ' ')
    .toWellFormed();
}
