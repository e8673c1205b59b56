import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { createScanner } from 'jsonc-parser';
import { errorCode } from '../../../../shared/values/errorCode.ts';
import { decodeText, readBody } from '../body.ts';
import { delimiterOf } from '../delimiter.ts';
import {
  MAX_BYTES_READ,
  MAX_LINKS,
  MAX_MARKUP_CHARACTERS,
  MAX_PLAIN_TEXT_BYTES,
  MAX_SEARCHED_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  MAX_TITLE_CHARACTERS,
  truncateText,
} from '../limits.ts';
import type { MediaKind } from '../mediaKind.ts';
import {
  compressContent,
  decompressContent,
  NotDerivableError,
  type SearchedTask,
  TEXT_TOOLS,
  type TextContent,
  type TextResult,
  type TextTask,
} from '../process/tasks.ts';
import { type ExtractedText, type Extraction, htmlText, type TextKind, xmlText } from './markup.ts';

/** Reads an object and extracts its text. Runs in the derive process. @throws NotDerivableError. */
export async function makeText({ object }: TextTask): Promise<TextResult> {
  const { bytes, kind, isCut } = readBody(object, MAX_BYTES_READ);
  const {
    links = [],
    pages = null,
    ...found
  } = await extractText(kind, bytes, {
    contentType: object.contentType,
    isCut,
  });
  const content: TextContent = { ...found, links, pages };
  return {
    ...TEXT_TOOLS[content.kind],
    title: content.title,
    content: compressContent(content),
  };
}

/** Returns the beginning of a stored text, which is indexed. Runs in the derive process, because a text may be long. */
export function searchedText({ content }: SearchedTask): string {
  return decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS).toWellFormed();
}

interface ExtractOptions {
  contentType: string | null;
  /** Whether `bytes` are only the beginning of the object. */
  isCut?: boolean;
}

/**
 * Extracts the text of decoded bytes. Uses no database and no file. Blocks its process; runs in the derive process.
 *
 * @throws NotDerivableError `unsupported`, `too_large`, `damaged`, `encrypted`.
 */
async function extractText(
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

/** A longer record means an unclosed quote. */
const MAX_RECORD_CHARACTERS = 200_000;
/** Quotes and delimiters make a table a little longer than its text. */
const MAX_PARSED_CHARACTERS = 1.25 * MAX_TEXT_CHARACTERS;

/** Returns a table as one line per row with tab-separated cells. CSV that cannot be parsed is returned unchanged. */
function csvText(csv: string, contentType: string | null): Extraction {
  const isCut = csv.length > MAX_PARSED_CHARACTERS;
  const beginning = isCut ? csv.slice(0, MAX_PARSED_CHARACTERS) : csv;
  // The last line may be cut in the middle of a cell, so it is left out.
  const parsed = isCut ? beginning.slice(0, beginning.lastIndexOf('\n') + 1) || beginning : beginning;
  const rows = rowsOf(parsed, delimiterOf(parsed, contentType));
  const text = rows?.map((cells) => cells.map(inOneLine).join('\t')).join('\n') ?? parsed;
  return { title: null, text, truncated: isCut };
}

function rowsOf(csv: string, delimiter: string): string[][] | undefined {
  try {
    return parse(csv, {
      delimiter,
      bom: true,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_RECORD_CHARACTERS,
    });
  } catch (error) {
    if (errorCode(error)?.startsWith('CSV_')) return undefined;
    throw error;
  }
}

function inOneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim();
}

/** Deeper levels are not indented further, or a document of brackets alone would grow quadratically. */
const MAX_INDENT = 32;

/**
 * Indents JSON with one value per line. Works on tokens instead of parsing, so that the order of names and the spelling
 * of numbers and strings are kept. Input that is not JSON keeps its tokens.
 */
function jsonText(json: string): Extraction {
  const parts: string[] = [];
  let characters = 0;
  let depth = 0;
  let last = '';
  const put = (part: string) => {
    parts.push(part);
    characters += part.length;
  };
  for (const token of tokensOf(json.slice(0, MAX_MARKUP_CHARACTERS))) {
    if (characters > MAX_TEXT_CHARACTERS) return { title: null, text: parts.join(''), truncated: true };
    const closes = token === '}' || token === ']';
    if (closes) depth = Math.max(0, depth - 1);
    if (last === ':') put(' ');
    else if (last !== '' && token !== ',' && token !== ':' && !(closes && opens(last)))
      put(`\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`);
    put(token);
    if (opens(token)) depth += 1;
    last = token;
  }
  return { title: null, text: parts.join(''), truncated: json.length > MAX_MARKUP_CHARACTERS };
}

function opens(token: string): boolean {
  return token === '{' || token === '[';
}

/** Yields the tokens as written, without the white space between them. */
function* tokensOf(json: string): Generator<string> {
  const scanner = createScanner(json, false);
  for (;;) {
    scanner.scan();
    const token = json.slice(scanner.getTokenOffset(), scanner.getPosition());
    if (token === '') return;
    if (token.trim() !== '') yield token;
  }
}

/** Extracts the text of a PDF page by page. @throws NotDerivableError `encrypted`, `damaged`. */
export function pdfText(bytes: Uint8Array): Promise<Extraction> {
  return withPdf(bytes, readPages);
}

/**
 * Opens a PDF for its text. Nothing is rendered or fetched, and no font is loaded. The character code tables (CMaps) for
 * Chinese, Japanese and Korean come from the library's folder.
 *
 * @throws NotDerivableError `encrypted`, `damaged`, also for errors of the library while the document is used.
 */
export async function withPdf<Result>(
  bytes: Uint8Array,
  use: (document: PdfDocument) => Promise<Result>,
): Promise<Result> {
  // Loaded with the first PDF, because it is large. The legacy build is the one for Node.
  const { getDocument, PasswordException, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const loading = getDocument({
    // The library detaches the buffer that it gets.
    data: new Uint8Array(bytes),
    cMapUrl: fileURLToPath(new URL('../../cmaps/', import.meta.resolve('pdfjs-dist/legacy/build/pdf.mjs'))),
    cMapPacked: true,
    useWorkerFetch: false,
    useWasm: false,
    useSystemFonts: false,
    disableFontFace: true,
    verbosity: VerbosityLevel.ERRORS,
  });
  try {
    return await use(await loading.promise);
  } catch (error) {
    if (error instanceof NotDerivableError || !(error instanceof Error)) throw error;
    if (error instanceof PasswordException)
      throw new NotDerivableError('encrypted', 'The PDF is encrypted and needs a password.', error);
    throw new NotDerivableError('damaged', 'The object is damaged or is not a PDF.', error);
  } finally {
    await loading.destroy();
  }
}

export type PdfDocument = Awaited<
  ReturnType<typeof import('pdfjs-dist/legacy/build/pdf.mjs').getDocument>['promise']
>;

async function readPages(document: PdfDocument): Promise<Extraction> {
  const { info } = await document.getMetadata();
  const pages: string[] = [];
  let characters = 0;
  for (let number = 1; number <= document.numPages && characters <= MAX_TEXT_CHARACTERS; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    pages.push(text.trim());
    characters += text.length;
    page.cleanup();
  }
  const title = 'Title' in info && typeof info.Title === 'string' ? info.Title.trim() : '';
  return {
    title: title || null,
    text: pages.join('\n\f\n'),
    pages: document.numPages,
    truncated: pages.length < document.numPages,
  };
}
