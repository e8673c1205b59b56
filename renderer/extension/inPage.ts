/*
 * Runs once in the page that the person clicked, in a world of its own: the scripts of the page do not see it. It reads the
 * page and changes nothing in it.
 */

/** A passage that the person selected, with the text around it. */
export interface Quote {
  exact: string;
  prefix: string;
  suffix: string;
}

/** A part of a saved page. */
export interface Part {
  url: string;
  /** What `cid:` addresses of the page name. */
  id?: string;
  type: string;
  base64: string;
}

/** What was read from a page. */
export interface ReadPage {
  url: string;
  mediaType: string;
  quote: Quote | null;
  /** The page with its parts; absent if the browser saves the page itself. */
  parts?: Part[];
  /** How many parts could not be read, such as pictures of hosts that do not let others read them. */
  missing: number;
}

const MAX_QUOTE = 10_000;
const MAX_CONTEXT = 100;
const MAX_FILES = 500;
const MAX_FILE_BYTES = 10_000_000;
const MAX_ALL_BYTES = 40_000_000;
const MAX_MS = 15_000;
const AT_ONCE = 6;
const MAX_DEPTH = 400;

const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
/** What runs, and what is shown only where nothing runs. */
const LEFT_OUT = /^(script|noscript)$/;
/** Its text is written as it is. */
const RAW = /^(style|xmp|noembed|noframes|plaintext)$/;
const IN_CSS = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')/g;

/** The documents of a page, and the addresses of the files that they show. */
class SavedPage {
  readonly parts: Part[] = [];
  readonly #files = new Set<string>();
  #bytes = 0;
  #frames = 0;
  missing = 0;

  /** Adds a document. A frame is named by an id. */
  async addDocument(document: Document, id: string): Promise<void> {
    const part: Part = { url: document.URL, id, type: 'text/html; charset=utf-8', base64: '' };
    // The page comes before its frames.
    this.parts.push(part);
    const frames: { document: Document; id: string }[] = [];
    const text = new Writer(document, this, frames).write();
    part.base64 = await base64Of(new Blob([text]));
    for (const frame of frames) await this.addDocument(frame.document, frame.id);
  }

  /** The same page has the same ids, and so the same bytes. */
  newFrameId(): string {
    this.#frames += 1;
    return `frame-${this.#frames}@strongroom`;
  }

  /** Notes a file that a document or a style shows, and returns its address. */
  addFile(address: string, base: string): string {
    const url = URL.parse(address, base);
    if (!url || !/^https?:$/.test(url.protocol)) return address;
    url.hash = '';
    if (this.#files.size < MAX_FILES) this.#files.add(url.href);
    else this.missing += 1;
    return url.href;
  }

  addFilesOf(css: string, base: string): void {
    for (const [, ...found] of css.matchAll(IN_CSS)) {
      const address = found.find((each) => each !== undefined && each !== '');
      if (address !== undefined && !address.startsWith('#')) this.addFile(address, base);
    }
  }

  /** Reads all files, those of styles too, as the page would: from the cache if they are there. */
  async readFiles(): Promise<void> {
    const signal = AbortSignal.timeout(MAX_MS);
    // The set grows while styles are read.
    const files = this.#files.values();
    const readNext = async (): Promise<void> => {
      for (let next = files.next(); !next.done; next = files.next()) await this.#read(next.value, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readNext));
    // A style that one of them read last may have named more.
    await readNext();
  }

  async #read(url: string, signal: AbortSignal): Promise<void> {
    try {
      const response = await fetch(url, { cache: 'force-cache', signal });
      if (!response.ok) throw new TypeError(`The answer is ${response.status}.`);
      const content = await response.blob();
      if (content.size > MAX_FILE_BYTES || this.#bytes + content.size > MAX_ALL_BYTES)
        throw new RangeError('The file is too large.');
      this.#bytes += content.size;
      const type = response.headers.get('Content-Type') ?? 'application/octet-stream';
      if (/^text\/css\b/i.test(type)) this.addFilesOf(await content.text(), url);
      this.parts.push({ url, type, base64: await base64Of(content) });
    } catch {
      // Most often a host that does not let other sites read its files. The page is kept without it, and says how many.
      this.missing += 1;
    }
  }
}

/** Writes one document as HTML, as it is now. */
class Writer {
  readonly #document: Document;
  readonly #page: SavedPage;
  readonly #frames: { document: Document; id: string }[];
  readonly #pieces: string[] = [];

  constructor(document: Document, page: SavedPage, frames: { document: Document; id: string }[]) {
    this.#document = document;
    this.#page = page;
    this.#frames = frames;
  }

  write(): string {
    this.#children(this.#document, 0);
    return this.#pieces.join('');
  }

  #children(parent: Node, depth: number): void {
    // Deeper than any real page: what is below is left out, and the stack does not overflow.
    if (depth > MAX_DEPTH) return;
    for (const child of parent.childNodes) {
      // Nodes of frames are no instances of this window's classes.
      if (child.nodeType === Node.ELEMENT_NODE) this.#element(child as Element, depth);
      else if (child.nodeType === Node.TEXT_NODE) this.#text(child as Text);
      else if (child.nodeType === Node.DOCUMENT_TYPE_NODE) this.#pieces.push(`<!DOCTYPE ${child.nodeName}>`);
    }
  }

  #text({ data, parentNode }: Text): void {
    this.#pieces.push(RAW.test(parentNode?.nodeName.toLowerCase() ?? '') ? data : escaped(data));
  }

  #element(element: Element, depth: number): void {
    const name = element.localName;
    if (LEFT_OUT.test(name)) return;
    if (name === 'canvas') return this.#canvas(element as HTMLCanvasElement);
    this.#pieces.push(`<${name}`, ...this.#attributes(element), '>');
    if (VOID.test(name)) return;
    const shadow = chrome.dom?.openOrClosedShadowRoot(element) ?? element.shadowRoot;
    if (shadow) {
      this.#pieces.push('<template shadowrootmode="open">');
      this.#adopted(shadow);
      this.#children(shadow, depth + 1);
      this.#pieces.push('</template>');
    }
    if (name === 'style') this.#style(element as HTMLStyleElement);
    else if (name === 'template') this.#children((element as HTMLTemplateElement).content, depth + 1);
    else if (name !== 'iframe') this.#children(element, depth + 1);
    if (name === 'head') this.#adopted(this.#document);
    this.#pieces.push(`</${name}>`);
  }

  #attributes(element: Element): string[] {
    const base = this.#document.baseURI;
    const values = new Map([...element.attributes].map(({ name, value }) => [name, value]));
    const style = values.get('style');
    if (style !== undefined) this.#page.addFilesOf(style, base);
    const setFile = (name: string, address: string | null) => {
      if (address) values.set(name, this.#page.addFile(address, base));
    };
    const { localName } = element;
    if (localName === 'img') {
      setFile('src', (element as HTMLImageElement).currentSrc || element.getAttribute('src'));
      // The picture that was shown is the one that is kept.
      for (const other of ['srcset', 'sizes', 'loading']) values.delete(other);
    }
    const isStyle =
      localName === 'link' && /\bstylesheet\b|\bicon\b/i.test(element.getAttribute('rel') ?? '');
    if (isStyle) setFile('href', element.getAttribute('href'));
    if (localName === 'video') setFile('poster', element.getAttribute('poster'));
    if (localName === 'image') setFile('href', element.getAttribute('href'));
    if (localName === 'input' && element.getAttribute('type') === 'image')
      setFile('src', element.getAttribute('src'));
    if (localName === 'input' && element.getAttribute('type') === 'password') values.delete('value');
    if (/^i?frame$/.test(localName)) this.#frame(element as HTMLIFrameElement, values);
    return [...values].map(([name, value]) => ` ${name}="${escaped(value).replaceAll('"', '&quot;')}"`);
  }

  /** A frame of another site cannot be read: the click opened this site only. */
  #frame(element: HTMLIFrameElement, values: Map<string, string>): void {
    const inner = element.contentDocument;
    if (!inner?.documentElement) return;
    const id = this.#page.newFrameId();
    this.#frames.push({ document: inner, id });
    values.set('src', `cid:${id}`);
    values.delete('srcdoc');
  }

  #canvas(canvas: HTMLCanvasElement): void {
    const { width, height } = canvas;
    const style = escaped(canvas.getAttribute('style') ?? '').replaceAll('"', '&quot;');
    const name = escaped(canvas.className).replaceAll('"', '&quot;');
    this.#pieces.push(
      `<img alt="" class="${name}" style="${style}" width="${width}" height="${height}" src="${pictureOf(canvas)}">`,
    );
  }

  /** Rules that a script inserted are not in the text of the element. */
  #style(element: HTMLStyleElement): void {
    const css = element.textContent?.trim() ? element.textContent : cssOf(element.sheet);
    this.#page.addFilesOf(css, this.#document.baseURI);
    this.#pieces.push(css);
  }

  #adopted(root: Document | ShadowRoot): void {
    for (const sheet of root.adoptedStyleSheets) {
      const css = cssOf(sheet);
      this.#page.addFilesOf(css, this.#document.baseURI);
      this.#pieces.push(`<style>${css}</style>`);
    }
  }
}

function cssOf(sheet: CSSStyleSheet | null): string {
  const css = [...(sheet?.cssRules ?? [])].map(({ cssText }) => cssText).join('\n');
  return css.replaceAll('</style', '<\\/style');
}

function pictureOf(canvas: HTMLCanvasElement): string {
  try {
    return canvas.toDataURL();
  } catch {
    // It shows a picture of another site, which may not be read.
    return '';
  }
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\u00a0', '&nbsp;');
}

async function base64Of(content: Blob): Promise<string> {
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => {
    reader.onload = resolve;
    reader.onerror = () => reject(reader.error ?? new Error('The content cannot be read.'));
  });
  reader.readAsDataURL(content);
  await read;
  const url = reader.result as string;
  return url.slice(url.indexOf(',') + 1);
}

function selectedQuote(): Quote | null {
  const selection = getSelection();
  if (!selection || selection.rangeCount === 0 || selection.isCollapsed) return null;
  const exact = cut(selection.toString().trim(), MAX_QUOTE);
  if (exact === '') return null;
  const range = selection.getRangeAt(0);
  const before = document.createRange();
  before.setStart(document.body, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const after = document.createRange();
  after.setStart(range.endContainer, range.endOffset);
  after.setEndAfter(document.body);
  const prefix = oneLine(before.toString())
    .slice(-MAX_CONTEXT)
    .replace(/^[\udc00-\udfff]/, '');
  return { exact, prefix, suffix: cut(oneLine(after.toString()), MAX_CONTEXT) };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** Never leaves half of a surrogate pair. */
function cut(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** @param isSaved whether the browser saves the page itself */
async function readPage(isSaved: boolean): Promise<ReadPage> {
  const read = { url: location.href, mediaType: document.contentType, quote: selectedQuote(), missing: 0 };
  if (isSaved || !/html/.test(document.contentType)) return read;
  const page = new SavedPage();
  await page.addDocument(document, page.newFrameId());
  await page.readFiles();
  return { ...read, parts: page.parts, missing: page.missing };
}

declare global {
  var strongroomReadPage: typeof readPage | undefined;
}
globalThis.strongroomReadPage = readPage;
