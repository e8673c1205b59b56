import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html as spec, type Token } from 'parse5';
import { CONTROLS, DROPPED_ELEMENTS, FRAMES, RENAMED_ELEMENTS } from './elementRules.ts';
import {
  baseOf,
  isKept,
  markMissing,
  setAttribute,
  shortened,
  titleOf,
  withoutTags,
} from './pageElements.ts';
import type { Resources } from './resources.ts';
import { rewriteCss } from './rewriteCss.ts';
import { srcsetAddresses } from './srcset.ts';

type Document = DefaultTreeAdapterTypes.Document;
type Element = DefaultTreeAdapterTypes.Element;
type ChildNode = DefaultTreeAdapterTypes.ChildNode;

/** Images that a script would load when they are scrolled into view. */
const LAZY_ADDRESSES = ['data-src', 'data-original', 'data-lazy-src'];
const LAZY_SRCSETS = ['data-srcset', 'data-lazy-srcset'];

/** Rewrites the elements of one page in place. */
export class PageWriter {
  readonly #resources: Resources;
  readonly #url: string;
  readonly #base: string;
  /** Stylesheets that are being put in, against those that import themselves. */
  readonly #importing: string[] = [];
  /** Images in a picture with a source that is held. */
  readonly #inHeldPicture = new WeakSet<Element>();
  /** What each `source` element gets. */
  readonly #sources = new WeakMap<Element, { name: string; value: string }>();
  title: string | null = null;

  constructor(document: Document, url: string, resources: Resources) {
    this.#resources = resources;
    this.#url = url;
    this.#base = URL.parse(baseOf(document) ?? '', url)?.href ?? url;
  }

  /** Rewrites an element that stays, with what it contains. */
  rewrite(element: Element): void {
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
    }
    this.rewrite(node);
    return [node];
  }

  /** Leaves out what could load or run something, and rewrites what shows something. */
  #attributes(element: Element): void {
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

  #image(element: Element, value: (name: string) => string | undefined): void {
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
  #picture(picture: Element): void {
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

  #player(element: Element, value: (name: string) => string | undefined): void {
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
  #recording(source: Element): boolean {
    const address = this.#address(source.attrs.find(({ name }) => name === 'src')?.value);
    const shown = address === undefined ? undefined : this.#resources.asset(address);
    if (shown === undefined) return false;
    this.#sources.set(source, { name: 'src', value: shown });
    return true;
  }

  #svgImage(element: Element, href: string | undefined): void {
    const address = this.#address(href);
    const shown = address === undefined ? undefined : this.#resources.asset(address);
    if (shown !== undefined) setAttribute(element, 'href', shown);
    else if (href !== undefined && (href.startsWith('#') || /^data:image\//i.test(href)))
      setAttribute(element, 'href', href);
  }

  #background(element: Element, address: string): void {
    const shown = this.#resources.asset(address);
    if (shown === undefined) return;
    const style = element.attrs.find(({ name }) => name === 'style')?.value;
    setAttribute(element, 'style', `background-image:url("${shown}");${style ?? ''}`);
  }

  /** A link to a held address leads to its view; any other shows its address. */
  #anchor(element: Element, href: string | undefined): void {
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

  /** Frames are left out. A link names their address. */
  #frame(frame: Element): ChildNode[] {
    const src = frame.attrs.find(({ name }) => name === 'src')?.value;
    const address = this.#address(src);
    if (address === undefined) return [];
    const link = defaultTreeAdapter.createElement('a', spec.NS.HTML, [
      { name: 'data-strongroom-frame', value: '' },
    ]);
    this.#anchor(link, address);
    defaultTreeAdapter.insertText(link, `Frame: ${shortened(address)}`);
    return [link];
  }

  #style(element: Element): ChildNode[] {
    const type = element.attrs.find(({ name }) => name === 'type')?.value.trim() ?? '';
    if (type !== '' && type.toLowerCase() !== 'text/css') return [];
    const css = element.childNodes.map((child) => ('value' in child ? child.value : '')).join('');
    this.#attributes(element);
    element.childNodes = [];
    defaultTreeAdapter.insertText(element, rewriteCss(css, this.#references(this.#base)));
    return [element];
  }

  /** A stylesheet is put into the page; other linked documents are not shown. */
  #link({ attrs }: Element): ChildNode[] {
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

  /** Resolves an address, without its fragment. Only http and https can be held. */
  #address(reference: string | undefined, base = this.#base): string | undefined {
    if (reference === undefined || reference.trim() === '') return undefined;
    const url = URL.parse(reference.trim(), base);
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
    url.hash = '';
    return url.href;
  }
}

/** Returns the path of the page of the interface that shows a capture. */
function viewPath(sha256: string, source: string, at: string): string {
  return `/view/${sha256}?${new URLSearchParams({ source, at }).toString()}`;
}
