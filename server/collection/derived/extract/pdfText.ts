import { fileURLToPath } from 'node:url';
import { MAX_TEXT_CHARACTERS } from '../limits.ts';
import { NotDerivableError } from '../notDerivable.ts';
import type { Extraction } from './extractedText.ts';

/**
 * Extracts the text of a PDF page by page. Nothing is rendered or fetched, and no font is loaded. The character code
 * tables (CMaps) for Chinese, Japanese and Korean come from the library's folder.
 *
 * @throws NotDerivableError `encrypted`, `damaged`.
 */
export async function pdfText(bytes: Uint8Array): Promise<Extraction> {
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
    return await readPages(await loading.promise);
  } catch (error) {
    if (error instanceof NotDerivableError || !(error instanceof Error)) throw error;
    if (error instanceof PasswordException)
      throw new NotDerivableError('encrypted', 'The PDF is encrypted and needs a password.', error);
    throw new NotDerivableError('damaged', 'The object is damaged or is not a PDF.', error);
  } finally {
    await loading.destroy();
  }
}

type PdfDocument = Awaited<
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
