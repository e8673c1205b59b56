import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html as spec, type Token } from 'parse5';
import type { HeldCapture } from '../../derived/process/tasks.ts';
import { CONTROLS, DROPPED_ATTRIBUTES, DROPPED_ELEMENTS, FRAMES, RENAMED_ELEMENTS } from './leftOut.ts';
import { rewriteCss } from './rewriteCss.ts';

type ParsedDocument = DefaultTreeAdapterTypes.Document;
type ParsedElement = DefaultTreeAdapterTypes.Element;
type ChildNode = DefaultTreeAdapterTypes.ChildNode;

/** The captures that a page uses, by their addresses. */
export interface PageResources {
  has(address: string): boolean;
  firstOf(addresses: readonly string[]): string | undefined;
  asset(address: string): string | undefined;
  stylesheet(address: string): { text: string; address: string } | undefined;
  linked(address: string): HeldCapture | undefined;
}

/** Images that a script would load when they are scrolled into view. */
const LAZY_ADDRESSES = ['data-src', 'data-original', 'data-lazy-src'];
const LAZY_SRCSETS = ['data-srcset', 'data-lazy-srcset'];

/** Rewrites the elements of one page in place. */
export class PageWriter {
  readonly #resources: PageResources;
  readonly #url: string;
  readonly #base: string;
  /** Stylesheets that are being put in, against those that import themselves. */
  readonly #importing: string[] = [];
  /** Images in a picture with a source that is held. */
  readonly #inHeldPicture = new WeakSet<ParsedElement>();
  /** What each `source` element gets. */
  readonly #sources = new WeakMap<ParsedElement, { name: string; value: string }>();
  title: string | null = null;

  constructor(document: ParsedDocument, url: string, resources: PageResources) {
    this.#resources = resources;
    this.#url = url;
    this.#base = URL.parse(baseOf(document) ?? '', url)?.href ?? url;
  }

  /** Rewrites an element that stays, with what it contains. */
  rewrite(element: ParsedElement): void {
    this.#attributes(element);
    const children: ChildNode[] = [];
    for (const child of element.childNodes) {
      for (const kept of this.#kept(child)) {
        kept.parentNode = element;
        children.push(kept);
      }
    }
    element.childNodes = children;
  }

  /** Returns what becomes of a node: nothing, itself, or others. */
  #kept(node: ChildNode): ChildNode[] {
    if (node.nodeName === '#text') return [node];
    if (!('tagName' in node)) return [];
    const name = node.tagName;
    if (name === 'template') return this.#shadowTree(node);
    if (DROPPED_ELEMENTS.has(name)) return [];
    if (name === 'noscript') return node.childNodes.flatMap((child) => this.#kept(child));
    if (FRAMES.has(name)) return this.#frame(node);
    if (name === 'style') return this.#style(node);
    if (name === 'link') return this.#link(node);
    if (name === 'title' && node.namespaceURI === spec.NS.HTML) this.title ??= titleOf(node);
    if (name === 'picture') this.#picture(node);
    if (name === 'source' && node.parentNode?.nodeName !== 'picture' && !this.#recording(node)) return [];
    const renamed = RENAMED_ELEMENTS[name];
    if (renamed !== undefined) {
      // Inside SVG and MathML the new name would end the drawing, and a browser would read what follows differently.
      if (node.namespaceURI !== spec.NS.HTML) return [];
      node.tagName = renamed;
      node.nodeName = renamed;
      setAttribute(node, 'data-strongroom-was', name);
    }
    this.rewrite(node);
    return [node];
  }

  /** Leaves out what could load or run something, and rewrites what shows something. */
  #attributes(element: ParsedElement): void {
    const before = element.attrs;
    const value = (name: string) => before.find((attribute) => attribute.name.toLowerCase() === name)?.value;
    const kept = before.filter(({ name, prefix }) => isKept(name, prefix));
    element.attrs = element.namespaceURI === spec.NS.SVG ? kept.map((one) => this.#presentation(one)) : kept;
    const style = value('style');
    if (style !== undefined) setAttribute(element, 'style', rewriteCss(style, this.#references(this.#base)));
    const background = this.#address(value('background'));
    if (background !== undefined) this.#background(element, background);
    const { tagName } = element;
    if (tagName === 'img') this.#image(element, value);
    else if (tagName === 'a' || tagName === 'area') this.#anchor(element, value('href'));
    else if (tagName === 'image' || tagName === 'feImage') this.#svgImage(element, value('href'));
    else if (tagName === 'video' || tagName === 'audio') this.#player(element, value);
    else if (value('href')?.startsWith('#')) setAttribute(element, 'href', value('href') ?? '');
    const given = this.#sources.get(element);
    if (given) setAttribute(element, given.name, given.value);
    if (CONTROLS.has(tagName)) {
      element.attrs = element.attrs.filter(({ name }) => name !== 'name');
      setAttribute(element, 'disabled', '');
    }
    element.attrs = element.attrs.map((one) => ({ ...one, value: withoutTags(one.value) }));
  }

  /** Attributes of SVG may name a gradient or a filter, in this document or, which is left out, in another one. */
  #presentation(attribute: Token.Attribute): Token.Attribute {
    if (!/url\s*\(|\\/i.test(attribute.value) || attribute.name.startsWith('data-')) return attribute;
    return {
      ...attribute,
      value: rewriteCss(attribute.value, { asset: () => undefined, sheet: () => undefined }),
    };
  }

  #image(element: ParsedElement, value: (name: string) => string | undefined): void {
    const src = value('src')?.trim() ?? '';
    const addresses = [
      ...[src, ...LAZY_ADDRESSES.map(value)].map((address) => this.#address(address)),
      ...['srcset', ...LAZY_SRCSETS].flatMap((name) =>
        srcsetAddresses(value(name) ?? '').map((address) => this.#address(address)),
      ),
    ].filter((address) => address !== undefined);
    // In a picture, one of the sources may be held.
    const isElsewhere =
      this.#inHeldPicture.has(element) && !addresses.some((address) => this.#resources.has(address));
    const shown = isElsewhere ? undefined : this.#resources.firstOf(addresses);
    if (shown !== undefined) setAttribute(element, 'src', shown);
    else if (addresses.length === 0 && /^data:image\//i.test(src)) setAttribute(element, 'src', src);
    else if (isElsewhere) setAttribute(element, 'src', 'data:,');
    else if (addresses[0] !== undefined) markMissing(element, addresses[0]);
  }

  /** Gives each source of a picture one image that is held, and leaves out the others. */
  #picture(picture: ParsedElement): void {
    let hasHeld = false;
    picture.childNodes = picture.childNodes.filter((child) => {
      if (!('tagName' in child) || child.tagName !== 'source') return true;
      const srcset = child.attrs.find(({ name }) => name === 'srcset' || name === 'data-srcset')?.value ?? '';
      const held = srcsetAddresses(srcset)
        .map((address) => this.#address(address))
        .filter((address) => address !== undefined && this.#resources.has(address));
      const shown = held[0] === undefined ? undefined : this.#resources.asset(held[0]);
      if (shown === undefined) return false;
      hasHeld = true;
      this.#sources.set(child, { name: 'srcset', value: shown });
      return true;
    });
    for (const child of picture.childNodes)
      if (hasHeld && 'tagName' in child && child.tagName === 'img') this.#inHeldPicture.add(child);
  }

  #player(element: ParsedElement, value: (name: string) => string | undefined): void {
    setAttribute(element, 'controls', '');
    const poster = this.#address(value('poster'));
    const shown = poster === undefined ? undefined : this.#resources.asset(poster);
    if (shown !== undefined) setAttribute(element, 'poster', shown);
    const address = this.#address(value('src'));
    const recording = address === undefined ? undefined : this.#resources.asset(address);
    if (recording !== undefined) setAttribute(element, 'src', recording);
    else if (address !== undefined) markMissing(element, address);
  }

  /** Returns whether a source of a recording is held. */
  #recording(source: ParsedElement): boolean {
    const address = this.#address(source.attrs.find(({ name }) => name === 'src')?.value);
    const shown = address === undefined ? undefined : this.#resources.asset(address);
    if (shown === undefined) return false;
    this.#sources.set(source, { name: 'src', value: shown });
    return true;
  }

  #svgImage(element: ParsedElement, href: string | undefined): void {
    const address = this.#address(href);
    const shown = address === undefined ? undefined : this.#resources.asset(address);
    if (shown !== undefined) setAttribute(element, 'href', shown);
    else if (href !== undefined && (href.startsWith('#') || /^data:image\//i.test(href)))
      setAttribute(element, 'href', href);
  }

  #background(element: ParsedElement, address: string): void {
    const shown = this.#resources.asset(address);
    if (shown === undefined) return;
    const style = element.attrs.find(({ name }) => name === 'style')?.value;
    setAttribute(element, 'style', `background-image:url("${shown}");${style ?? ''}`);
  }

  /** A link to a held address leads to its view; any other shows its address. */
  #anchor(element: ParsedElement, href: string | undefined): void {
    if (href === undefined) return;
    const fragment = this.#fragment(href);
    if (fragment !== undefined) return setAttribute(element, 'href', fragment);
    const address = this.#address(href);
    const capture = address === undefined ? undefined : this.#resources.linked(address);
    if (capture) {
      setAttribute(element, 'href', viewPath(capture.object.sha256, capture.source, capture.moment));
      setAttribute(element, 'target', '_top');
      return;
    }
    setAttribute(element, 'data-strongroom-dead', '');
    setAttribute(element, 'title', shortened(address ?? href.trim()));
  }

  /** Returns the fragment of a link within the page. */
  #fragment(href: string): string | undefined {
    const given = href.trim();
    if (given.startsWith('#')) return given;
    const url = URL.parse(given, this.#base);
    if (!url?.hash) return undefined;
    const { hash } = url;
    url.hash = '';
    return url.href === this.#url ? hash : undefined;
  }

  /** Frames are left out. A link names their address. A frame whose document is an attribute has none. */
  #frame(frame: ParsedElement): ChildNode[] {
    const value = (wanted: string) => frame.attrs.find(({ name }) => name === wanted)?.value;
    const address = this.#address(value('src'));
    if (address === undefined) return value('srcdoc') ? [frameWithoutAddress()] : [];
    const link = defaultTreeAdapter.createElement('a', spec.NS.HTML, [
      { name: 'data-strongroom-frame', value: '' },
    ]);
    this.#anchor(link, address);
    defaultTreeAdapter.insertText(link, `Frame: ${shortened(address)}`);
    return [link];
  }

  /**
   * A browser makes the shadow tree of an element of a template that says so. Any other template shows nothing. Chromium
   * writes `shadowmode` into the pages that it saves.
   */
  #shadowTree(template: ParsedElement): ChildNode[] {
    const isTree = template.attrs.some(({ name }) => name === 'shadowrootmode' || name === 'shadowmode');
    if (!isTree || template.namespaceURI !== spec.NS.HTML) return [];
    template.attrs = [{ name: 'shadowrootmode', value: 'open' }];
    const content = defaultTreeAdapter.getTemplateContent(template as DefaultTreeAdapterTypes.Template);
    const children = content.childNodes.flatMap((child) => this.#kept(child));
    for (const child of children) child.parentNode = content;
    content.childNodes = children;
    return [template];
  }

  #style(element: ParsedElement): ChildNode[] {
    const type = element.attrs.find(({ name }) => name === 'type')?.value.trim() ?? '';
    if (type !== '' && type.toLowerCase() !== 'text/css') return [];
    const css = element.childNodes.map((child) => ('value' in child ? child.value : '')).join('');
    this.#attributes(element);
    element.childNodes = [];
    defaultTreeAdapter.insertText(element, rewriteCss(css, this.#references(this.#base)));
    return [element];
  }

  /** A stylesheet is put into the page; other linked documents are not shown. */
  #link({ attrs }: ParsedElement): ChildNode[] {
    const value = (name: string) => attrs.find((attribute) => attribute.name === name)?.value;
    const rel = (value('rel') ?? '').toLowerCase().split(/\s+/);
    const address = this.#address(value('href'));
    if (!rel.includes('stylesheet') || rel.includes('alternate') || address === undefined) return [];
    const css = this.#stylesheet(address);
    if (css === undefined) return [];
    const media = value('media');
    const style = defaultTreeAdapter.createElement(
      'style',
      spec.NS.HTML,
      media === undefined ? [] : [{ name: 'media', value: media }],
    );
    defaultTreeAdapter.insertText(style, css);
    return [style];
  }

  #stylesheet(address: string): string | undefined {
    if (this.#importing.includes(address)) return undefined;
    const sheet = this.#resources.stylesheet(address);
    if (!sheet) return undefined;
    this.#importing.push(address);
    const css = rewriteCss(sheet.text, this.#references(sheet.address));
    this.#importing.pop();
    return css;
  }

  #references(base: string) {
    return {
      asset: (reference: string) => {
        if (/^\s*data:/i.test(reference)) return reference.trim();
        const address = this.#address(reference, base);
        return address === undefined ? undefined : this.#resources.asset(address);
      },
      sheet: (reference: string) => {
        const address = this.#address(reference, base);
        return address === undefined ? undefined : this.#stylesheet(address);
      },
    };
  }

  /** Resolves an address, without its fragment. Only http and https can be held, and the parts of a saved page by `cid`. */
  #address(reference: string | undefined, base = this.#base): string | undefined {
    if (reference === undefined || reference.trim() === '') return undefined;
    const url = URL.parse(reference.trim(), base);
    if (url === null || !/^(https?|cid):$/.test(url.protocol)) return undefined;
    url.hash = '';
    return url.href;
  }
}

/** Returns the path of the page of the interface that shows a capture. */
function viewPath(sha256: string, source: string, at: string): string {
  return `/view/${sha256}?${new URLSearchParams({ source, at }).toString()}`;
}

type Document = DefaultTreeAdapterTypes.Document;
type Element = DefaultTreeAdapterTypes.Element;

const MAX_TITLE_CHARACTERS = 300;

/** Returns the address in the first `base` element of a document. */
function baseOf(document: Document): string | undefined {
  // The first one in the document counts; it belongs into the head.
  const root = document.childNodes.find(({ nodeName }) => nodeName === 'html');
  const head = childrenOf(root).find(({ nodeName }) => nodeName === 'head');
  for (const parent of [head, root]) {
    for (const node of childrenOf(parent)) {
      if (!('tagName' in node) || node.tagName !== 'base') continue;
      const href = node.attrs.find(({ name }) => name === 'href')?.value;
      if (href !== undefined) return href.trim();
    }
  }
  return undefined;
}

function childrenOf(node: ChildNode | undefined): ChildNode[] {
  return node !== undefined && 'childNodes' in node ? node.childNodes : [];
}

/** Returns whether an attribute is neither a script nor loads anything. */
function isKept(name: string, prefix: string | undefined): boolean {
  // HTML does not split the prefix from the name.
  const lower = name.toLowerCase().replace(/^xlink:/, '');
  return !lower.startsWith('on') && !DROPPED_ATTRIBUTES.has(lower) && prefix !== 'xml';
}

/**
 * Returns the value of an attribute with nothing in it that looks like a tag. Otherwise a browser that takes the element for
 * text, because it reads the written page differently, would find elements in it that were not inspected.
 */
function withoutTags(value: string): string {
  return value.replace(/<(?=[a-z/!?])/gi, /^data:/i.test(value) ? '%3C' : '< ');
}

/** Sets an attribute of an element. */
function setAttribute(element: Element, name: string, value: string): void {
  const kept = element.attrs.filter((attribute) => attribute.name !== name);
  element.attrs = [...kept, { name, value }];
}

/** Says that a frame is here, so that its content is not missed silently. */
function frameWithoutAddress(): ParsedElement {
  const note = defaultTreeAdapter.createElement('span', spec.NS.HTML, [
    { name: 'data-strongroom-frame', value: '' },
  ]);
  defaultTreeAdapter.insertText(note, 'Frame without an address: its content is not shown here');
  return note;
}

/** Marks an element whose resource is not in the archive. */
function markMissing(element: Element, address: string): void {
  setAttribute(element, 'data-strongroom-missing', '');
  setAttribute(element, 'title', `Not in the archive: ${shortened(address)}`);
}

/** Returns the text of a `title` element, null if it is empty. */
function titleOf(element: Element): string | null {
  const text = element.childNodes.map((child) => ('value' in child ? child.value : '')).join('');
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARACTERS).toWellFormed() || null;
}

/** Shortens an address to what can be shown. */
function shortened(address: string): string {
  return address.length <= 500 ? address : `${address.slice(0, 500)}…`;
}

/** A candidate of a `srcset` attribute. */
interface Candidate {
  address: string;
  /** The width in pixels, or a thousand times the density. */
  size: number;
}

/** A wide screen. Larger images are not preferred. */
const ENOUGH = 2_000;

/**
 * Returns the addresses of a `srcset` attribute (HTML Standard, section 4.8.4.2.2), the best one first: the largest that
 * is not larger than a screen, then the smaller ones, then the larger ones.
 */
function srcsetAddresses(srcset: string): string[] {
  const candidates = parseSrcset(srcset);
  const rank = ({ size }: Candidate) => (size <= ENOUGH ? ENOUGH - size : size);
  return candidates.sort((left, right) => rank(left) - rank(right)).map(({ address }) => address);
}

function parseSrcset(srcset: string): Candidate[] {
  const candidates: Candidate[] = [];
  // An address contains commas but no blank; one that ends with a comma has no descriptor.
  const word = /[^\s,]\S*/g;
  for (let match = word.exec(srcset); match; match = word.exec(srcset)) {
    let end = match[0].length;
    while (match[0][end - 1] === ',') end -= 1;
    const address = match[0].slice(0, end);
    let descriptor = '';
    if (address === match[0]) {
      const comma = srcset.indexOf(',', word.lastIndex);
      const start = word.lastIndex;
      word.lastIndex = comma === -1 ? srcset.length : comma;
      descriptor = srcset.slice(start, word.lastIndex);
    }
    const [, number = '1', unit = 'x'] = /^\s*([\d.]+)([wx])/.exec(descriptor) ?? [];
    const size = Number.parseFloat(number) * (unit === 'w' ? 1 : 1_000);
    candidates.push({ address, size: Number.isFinite(size) ? size : 0 });
  }
  return candidates;
}
