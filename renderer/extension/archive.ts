import type { Part, ReadPage } from './inPage.ts';
import { addEntry } from './queue.ts';

/** The page cannot be archived. The message says why, for the person. */
export class CannotArchiveError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CannotArchiveError';
  }
}

const WHOLE_PAGES = { permissions: ['pageCapture'] };
/** A picture takes a fraction of a second. Reading a page takes at most 15 seconds (inPage.ts). */
const PICTURE_MS = 5_000;
const PAGE_MS = 45_000;
/** How often the browser is asked to save a page. */
const TRIES = 5;
/** The node takes no larger file. */
const MAX_FILE_BYTES = 200_000_000;
/** And no larger picture: the page is kept without it. */
const MAX_PICTURE_BYTES = 50_000_000;

/** Whether the browser may save pages itself. It can, then, save each page: the person allows it in the options. */
export function savesWholePages(): Promise<boolean> {
  return chrome.permissions.contains(WHOLE_PAGES);
}

/** Call this while a click is handled. Returns whether the person agreed. */
export async function setWholePages(isWanted: boolean): Promise<boolean> {
  if (isWanted) return chrome.permissions.request(WHOLE_PAGES);
  await chrome.permissions.remove(WHOLE_PAGES);
  return false;
}

/**
 * Reads the page of a tab that the person has just clicked, with a picture of what is visible, and puts both into the
 * queue. The browser refuses to read any other tab.
 *
 * @returns the id of the entry
 * @throws CannotArchiveError, QueueFullError
 */
export async function archiveTab(tab: chrome.Tab): Promise<number> {
  const at = new Date();
  const picture = await pictureOf(tab);
  const { url, quote, file, missing } = await readTab(tab, at);
  if (file.size > MAX_FILE_BYTES)
    throw new CannotArchiveError('This page is larger than 200 MB. Save it from the menu of the browser.');
  return addEntry({
    kind: 'page',
    url,
    seenAt: at.toISOString(),
    file,
    fileName: 'page.mhtml',
    picture,
    quote,
    isQuoted: quote !== null,
    note: '',
    case: '',
    missing,
  });
}

async function pictureOf({ windowId }: chrome.Tab): Promise<Blob | null> {
  try {
    const taken = chrome.tabs.captureVisibleTab(windowId, { format: 'png' });
    const url = (await within(PICTURE_MS, taken)) ?? '';
    const bytes = Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (character) =>
      character.charCodeAt(0),
    );
    return bytes.length > MAX_PICTURE_BYTES ? null : new Blob([bytes], { type: 'image/png' });
  } catch {
    // The window was covered or closed meanwhile, or the browser takes no more pictures this second. The page is kept.
    return null;
  }
}

async function readTab(
  tab: chrome.Tab,
  at: Date,
): Promise<Pick<ReadPage, 'url' | 'quote' | 'missing'> & { file: Blob }> {
  const { id: tabId } = tab;
  if (tabId === undefined) throw notReadable();
  const saved = (await savesWholePages()) ? await savedByBrowser(tabId) : undefined;
  const read = await readInPage(tabId, saved !== undefined);
  if (!read) throw notReadable();
  if (/pdf/.test(read.mediaType))
    throw new CannotArchiveError('This tab shows a PDF. Download it, and hand in the file in Strongroom.');
  const file = saved ?? (read.parts && writeMhtml(read.url, at, read.parts));
  if (!file)
    throw new CannotArchiveError(
      'This tab shows no page. Save what it shows, and hand in the file in Strongroom.',
    );
  return { ...read, file };
}

/**
 * Has the browser save the page. Chromium may delete the file that it made before it can be read, most often on a busy
 * machine: then it is asked again. Returns undefined if that does not help: then the extension reads the page itself.
 */
async function savedByBrowser(tabId: number): Promise<Blob | undefined> {
  // The browser refuses this unless the person clicked this tab, which it does not check for saving.
  if (!(await readInPage(tabId, true))) throw notReadable();
  for (let tried = 0; tried < TRIES; tried += 1) {
    const saved = await within(PAGE_MS, chrome.pageCapture?.saveAsMHTML({ tabId }));
    const bytes = await saved?.arrayBuffer().catch(() => undefined);
    if (bytes) return new Blob([bytes], { type: 'multipart/related' });
  }
  return undefined;
}

/** The browser refuses this unless the person clicked this tab. */
async function readInPage(tabId: number, isSaved: boolean): Promise<ReadPage | undefined> {
  const target = { tabId };
  try {
    await chrome.scripting.executeScript({ target, files: ['inPage.js'] });
    const reading = chrome.scripting.executeScript({
      target,
      func: (saved: boolean) => globalThis.strongroomReadPage?.(saved),
      args: [isSaved] as [boolean],
    });
    return (await within(PAGE_MS, reading))?.[0]?.result;
  } catch (error) {
    if (error instanceof CannotArchiveError) throw error;
    // The browser's own pages, its shop and its viewer cannot be read by any extension.
    return undefined;
  }
}

/** Browsers do not promise to answer: a tab may hang, or be closed. @throws CannotArchiveError after that time */
async function within<Result>(ms: number, answer: Promise<Result> | undefined): Promise<Result | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new CannotArchiveError('The browser did not answer in time. Click again.')),
      ms,
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function notReadable(): CannotArchiveError {
  return new CannotArchiveError('Your browser lets no extension read this page.');
}

/** A line of base64 in a message (RFC 2045, section 6.8). */
const LINE = 76;
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/;

/** Writes a page with its parts as one MHTML file (RFC 2557). The first part is the page. */
function writeMhtml(url: string, at: Date, parts: readonly Part[]): Blob {
  const boundary = `----Strongroom--${crypto.randomUUID()}`;
  const head = [
    'From: <Saved by the Strongroom extension>',
    `Snapshot-Content-Location: ${new URL(url).href}`,
    `Date: ${at.toUTCString()}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/related; type="text/html"; boundary="${boundary}"`,
  ];
  const pieces: string[] = [head.join('\r\n'), '\r\n\r\n'];
  for (const { url: location, id, type, base64 } of parts) {
    const fields = [
      `--${boundary}`,
      // What a server claims may hold anything.
      `Content-Type: ${MEDIA_TYPE.test(type) ? type : 'application/octet-stream'}`,
      'Content-Transfer-Encoding: base64',
      `Content-Location: ${location}`,
      ...(id === undefined ? [] : [`Content-ID: <${id}>`]),
    ];
    pieces.push(fields.join('\r\n'), '\r\n\r\n', inLines(base64), '\r\n');
  }
  pieces.push(`--${boundary}--\r\n`);
  return new Blob(pieces, { type: 'multipart/related' });
}

function inLines(base64: string): string {
  return base64.replace(new RegExp(`.{${LINE}}`, 'g'), '$&\r\n');
}
