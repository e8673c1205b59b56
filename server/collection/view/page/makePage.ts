import {
  type DefaultTreeAdapterTypes,
  defaultTreeAdapter,
  Parser,
  serializeOuter,
  html as spec,
  Tokenizer,
} from 'parse5';
import type { MissingReason } from '../../../../shared/collection/view.ts';
import { decodeText, readBody } from '../../derived/body.ts';
import {
  MAX_ADDED_CHARACTERS,
  MAX_ADDRESS_CHARACTERS,
  MAX_ATTRIBUTES,
  MAX_LINKED_ADDRESSES,
  MAX_MARKUP_CHARACTERS,
  MAX_MISSING,
  MAX_OPEN_ELEMENTS,
  MAX_PAGE_BYTES,
  MAX_RESOURCE_BYTES,
  MAX_RESOURCES,
  MAX_SHOWN_CHARACTERS,
  MAX_STYLESHEET_BYTES,
  MAX_STYLESHEETS,
} from '../../derived/limits.ts';
import {
  type HeldCapture,
  type MadePage,
  NotDerivableError,
  type PageResult,
  type PageTask,
} from '../../derived/process/tasks.ts';
import { type PageResources, PageWriter } from './pageWriter.ts';

/**
 * Makes a page that can be shown without scripts and without requests, or returns the addresses that must be looked up
 * first. Runs in the derive process.
 *
 * @throws NotDerivableError
 */
export function makePage(task: PageTask): PageResult {
  const { bytes, kind, isCut } = readBody(task.object, MAX_PAGE_BYTES);
  if (kind !== 'html') throw new NotDerivableError('unsupported', 'The object is not a page.');
  const html = decodeText(bytes, task.object.contentType);
  const isTruncated = isCut || html.length > MAX_MARKUP_CHARACTERS;
  const resources = new Resources(task);
  const made = rewritePage(html.slice(0, MAX_MARKUP_CHARACTERS), task.url, resources);
  const { wanted, used, missing } = resources;
  if (wanted.length > 0) return { wanted };
  if (made.html.length > MAX_SHOWN_CHARACTERS)
    throw new NotDerivableError('too_large', 'The page is too large to be shown.');
  return {
    page: {
      html: Buffer.from(made.html.toWellFormed()),
      title: made.title,
      used,
      missing,
      truncated: isTruncated,
    },
  };
}

type Element = DefaultTreeAdapterTypes.Element;

/** What the node adds to a page: marks for what is not held. */
const MARKS = [
  'img[data-strongroom-missing],video[data-strongroom-missing]{outline:1px dashed #888;min-width:1em;min-height:1em}',
  'a[data-strongroom-dead]{cursor:help;text-decoration:underline dotted}',
  '[data-strongroom-frame]{display:block;border:1px dashed #888;padding:.5em;font:14px sans-serif;overflow-wrap:anywhere}',
].join('');

/** The doctype that puts a browser into the same mode. */
const DOCTYPES = {
  [spec.DOCUMENT_MODE.NO_QUIRKS]: '<!doctype html>',
  [spec.DOCUMENT_MODE.QUIRKS]: '',
  [spec.DOCUMENT_MODE.LIMITED_QUIRKS]:
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">',
} as const;

interface RewrittenPage {
  html: string;
  title: string | null;
}

/**
 * Rewrites a page so that it can be shown without scripts and without a request: scripts, forms, frames and event handlers
 * are left out; stylesheets, images and fonts are put into it; links lead to the node or nowhere.
 *
 * @param url the address that it was retrieved from.
 * @throws NotDerivableError `too_large` if elements are nested too deeply or one has too many attributes.
 */
function rewritePage(html: string, url: string, resources: Resources): RewrittenPage {
  const document = parseBounded(html);
  const writer = new PageWriter(document, url, resources);
  const root = document.childNodes.find((node): node is Element => node.nodeName === 'html');
  if (!root) throw new Error('A parsed page has a root element.');
  writer.rewrite(root);
  const head = root.childNodes.find((node): node is Element => node.nodeName === 'head');
  if (head) head.childNodes.unshift(...ownElements(head));
  const mode = DOCTYPES[document.mode];
  return { html: `${mode}${serializeOuter(root, { scriptingEnabled: false })}`, title: writer.title };
}

function ownElements(head: Element): Element[] {
  const meta = defaultTreeAdapter.createElement('meta', spec.NS.HTML, [{ name: 'charset', value: 'utf-8' }]);
  const style = defaultTreeAdapter.createElement('style', spec.NS.HTML, []);
  defaultTreeAdapter.insertText(style, MARKS);
  for (const element of [meta, style]) element.parentNode = head;
  return [meta, style];
}

/**
 * Parses a page like a browser. A hostile page that opens elements without end, or gives one attributes without end,
 * would take time that grows with its square.
 *
 * @throws NotDerivableError `too_large`
 */
function parseBounded(html: string): DefaultTreeAdapterTypes.Document {
  let open = 0;
  const parser = new Parser<DefaultTreeAdapterTypes.DefaultTreeAdapterMap>({
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      onItemPush: () => {
        open += 1;
        if (open > MAX_OPEN_ELEMENTS)
          throw new NotDerivableError('too_large', `The page nests more than ${MAX_OPEN_ELEMENTS} elements.`);
      },
      onItemPop: () => {
        open -= 1;
      },
    },
  });
  parser.tokenizer = new BoundedTokenizer(parser.options, parser);
  parser.tokenizer.write(html, true);
  return parser.document;
}

/** Each new attribute is compared with all others of its element. */
class BoundedTokenizer extends Tokenizer {
  protected override _leaveAttrName(): void {
    super._leaveAttrName();
    const token = this.currentToken;
    if (token !== null && 'attrs' in token && token.attrs.length > MAX_ATTRIBUTES)
      throw new NotDerivableError(
        'too_large',
        `An element of the page has more than ${MAX_ATTRIBUTES} attributes.`,
      );
  }
}

/** A stylesheet that is held. */
interface Stylesheet {
  text: string;
  /** Its address without a fragment. */
  address: string;
}

/**
 * The captures that a page uses. Bytes are read from the archive only. An address that was not looked up yet is noted in
 * `wanted`; the page is made again once it was.
 */
class Resources implements PageResources {
  readonly #captures: ReadonlyMap<string, HeldCapture | null>;
  readonly #isLast: boolean;
  readonly #used = new Map<string, HeldCapture>();
  readonly #missing = new Map<string, MissingReason>();
  readonly #assets = new Map<string, string | undefined>();
  readonly #wanted = new Set<string>();
  readonly #wantedLinks = new Set<string>();
  #added = 0;
  #sheets = 0;

  constructor({ captures, isLast }: Pick<PageTask, 'captures' | 'isLast'>) {
    this.#captures = new Map(captures);
    this.#isLast = isLast;
  }

  /** The addresses to look up before the page can be made. Empty in the last pass. */
  get wanted(): string[] {
    return this.#isLast ? [] : [...this.#wanted, ...this.#wantedLinks];
  }

  get #isDropped(): boolean {
    return !this.#isLast && this.#wanted.size + this.#wantedLinks.size > 0;
  }

  get used(): MadePage['used'] {
    return [...this.#used].map(([url, { object, moment }]) => ({ url, sha256: object.sha256, moment }));
  }

  get missing(): MadePage['missing'] {
    return [...this.#missing].map(([url, reason]) => ({ url, reason }));
  }

  /** Returns the capture of a linked address, or undefined if none is held. */
  linked(address: string): HeldCapture | undefined {
    const capture = this.#captures.get(address);
    if (capture === undefined && isShort(address) && this.#wantedLinks.size < MAX_LINKED_ADDRESSES)
      this.#wantedLinks.add(address);
    return capture ?? undefined;
  }

  /** Returns whether an address is held. Notes that it is wanted if that is not known yet. */
  has(address: string): boolean {
    return this.#find(address) !== undefined;
  }

  /** Returns the first of several addresses of one image that can be used, as a `data:` URL. Otherwise all are missing. */
  firstOf(addresses: readonly string[]): string | undefined {
    const held = addresses.filter((address) => this.has(address));
    for (const address of held) {
      const url = this.asset(address);
      if (url !== undefined) return url;
    }
    const [first] = addresses;
    if (first !== undefined && held.length === 0) this.asset(first);
    return undefined;
  }

  /** Returns an image, font or recording as a `data:` URL. Notes it as missing if that is not possible. */
  asset(address: string): string | undefined {
    // The page is made again, so only the address matters now.
    if (this.#find(address) && this.#isDropped) return undefined;
    if (!this.#assets.has(address))
      this.#assets.set(
        address,
        this.#read(address, (capture) => readAsset(capture)),
      );
    const url = this.#assets.get(address);
    return url === undefined || !this.#add(address, url.length) ? undefined : url;
  }

  /** Returns a stylesheet. Notes it as missing if that is not possible. */
  stylesheet(address: string): Stylesheet | undefined {
    const text = this.#read(address, ({ object }) => {
      const { bytes, isCut } = readBody(object, MAX_STYLESHEET_BYTES);
      if (isCut) throw new NotDerivableError('too_large', 'The stylesheet is too large.');
      return decodeText(bytes, object.contentType);
    });
    if (text === undefined) return undefined;
    this.#sheets += 1;
    if (this.#sheets > MAX_STYLESHEETS || !this.#add(address, text.length)) {
      this.#noteMissing(address, 'too_large');
      return undefined;
    }
    return { text, address };
  }

  #find(address: string): HeldCapture | undefined {
    const capture = this.#captures.get(address);
    if (capture === undefined && isShort(address) && this.#wanted.size < MAX_RESOURCES)
      this.#wanted.add(address);
    return capture ?? undefined;
  }

  #read(address: string, read: (capture: HeldCapture) => string): string | undefined {
    const capture = this.#find(address);
    if (capture === undefined) {
      this.#noteMissing(address, 'not_held');
      return undefined;
    }
    try {
      return read(capture);
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      this.#noteMissing(address, error.reason === 'too_large' ? 'too_large' : 'unreadable');
      return undefined;
    }
  }

  #noteMissing(address: string, reason: MissingReason): void {
    if (this.#missing.has(address) || (isShort(address) && this.#missing.size < MAX_MISSING))
      this.#missing.set(address, reason);
  }

  /**
   * Counts what an address adds to the page. An address is used as soon as one use of it fits, also if a later one does
   * not.
   */
  #add(address: string, characters: number): boolean {
    if (this.#added + characters > MAX_ADDED_CHARACTERS) {
      this.#noteMissing(address, 'too_large');
      return false;
    }
    this.#added += characters;
    const capture = this.#find(address);
    if (capture) this.#used.set(address, capture);
    return true;
  }
}

function readAsset({ object }: HeldCapture): string {
  const { bytes, isCut } = readBody(object, MAX_RESOURCE_BYTES);
  if (isCut) throw new NotDerivableError('too_large', 'The object is too large to be put into a page.');
  return dataUrl(bytes, object.contentType);
}

function isShort(address: string): boolean {
  return address.length <= MAX_ADDRESS_CHARACTERS;
}

/** Types that a browser decodes and does not run. */
const PASSIVE =
  /^(image\/[a-z0-9.+-]+|font\/[a-z0-9.+-]+|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+|application\/(x-)?font-[a-z0-9.+-]+|application\/vnd\.ms-fontobject)$/;

/** Returns bytes as a `data:` URL. A type that could run something is replaced; a browser detects images by their bytes. */
function dataUrl(bytes: Uint8Array, contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return `data:${PASSIVE.test(type) ? type : 'application/octet-stream'};base64,${base64}`;
}
