/*
 * Run in a world of their own in a frame that was drawn, where the page's scripts cannot reach them. They are sent to the
 * browser as text, so each uses nothing outside of itself.
 */

/**
 * Remembers the number of a frame's element, for `readDocument`. `this` is the element.
 *
 * @this {Element}
 * @param {number} index
 */
export function markFrame(index) {
  const scope = /** @type {any} */ (globalThis);
  const key = Symbol.for('strongroom.frames');
  scope[key] ??= new Map();
  scope[key].set(this, index);
}

/**
 * Returns a part of what `readDocument` read.
 *
 * @param {'html' | 'text'} part
 * @param {number} from
 * @param {number} to
 */
export function partOfReading(part, from, to) {
  return /** @type {any} */ (globalThis)[Symbol.for('strongroom.reading')][part].slice(from, to);
}

/**
 * Reads a drawn document as HTML without scripts, and its visible text in reading order, one block a line. The driver
 * marked the element of each frame with its number (`markFrame`), and then fetches both by `partOfReading`.
 *
 * @param {number} maxCharacters more are cut off, and `cut` is true
 * @param {string} nonce names the places of frames, so that no page can write such a place itself
 */
export function readDocument(maxCharacters, nonce) {
  let cut = false;
  const scope = /** @type {any} */ (globalThis);
  /** @type {Map<Node, number>} */
  const frames = scope[Symbol.for('strongroom.frames')] ?? new Map();
  /** The styles that elements had before `standStill` changed them. @type {Map<Element, string | null>} */
  const styles = scope[Symbol.for('strongroom.styles')] ?? new Map();

  // A page can cover members of a form and of its document by naming an element like them, so they are read past it.
  const getter = (/** @type {object} */ prototype, /** @type {string} */ name) => {
    const property = Object.getOwnPropertyDescriptor(prototype, name);
    return (/** @type {Node} */ node) => /** @type {any} */ (property?.get?.call(node));
  };
  const childNodesOf = getter(Node.prototype, 'childNodes');
  const parentOf = getter(Node.prototype, 'parentElement');
  const nameOf = getter(Element.prototype, 'localName');
  const attributesOf = getter(Element.prototype, 'attributes');
  const shadowOf = getter(Element.prototype, 'shadowRoot');
  const bodyOf = getter(Document.prototype, 'body');
  const rootOf = getter(Document.prototype, 'documentElement');
  const titleOf = getter(Document.prototype, 'title');
  const baseOf = getter(Node.prototype, 'baseURI');
  const sheetsOf = getter(Document.prototype, 'adoptedStyleSheets');
  const modeOf = getter(Document.prototype, 'compatMode');
  const doctypeOf = getter(Document.prototype, 'doctype');

  /** The place of a frame, which the driver replaces: U+E000, the nonce, the number, U+E001. */
  const placeOfFrame = (/** @type {string | number} */ name) => `\u{e000}${nonce}:${name}\u{e001}`;

  // The text.
  const BLOCKS =
    /^(block|flex|grid|list-item|flow-root|-webkit-box|table(-(row|caption|row-group|header-group|footer-group))?)$/;
  /** @type {string[]} */
  const lines = [];
  let line = '';
  let characters = 0;
  const endLine = () => {
    const text = line
      .replace(/[ \t\r\n\f]+/g, ' ')
      .replace(/ ?\u{e002} ?/gu, '\t')
      .trim();
    line = '';
    if (text === '') return;
    characters += text.length;
    if (characters <= maxCharacters) lines.push(text);
    else cut = true;
  };
  const childrenOf = (/** @type {Node} */ node) => {
    if (node instanceof HTMLSlotElement) {
      const assigned = node.assignedNodes();
      if (assigned.length > 0) return assigned;
    }
    const shadow = node instanceof Element && shadowOf(node);
    const children = [...childNodesOf(shadow || node)];
    // In a drawing, text is shown only by its own elements.
    const isDrawing = node instanceof SVGElement && nameOf(node) !== 'foreignObject';
    return isDrawing ? children.filter((child) => child instanceof Element) : children;
  };
  /** Whether the browser shows what is within an object, because it cannot show the object. */
  const showsFallback = (/** @type {Element} */ object) => {
    const range = new Range();
    range.selectNodeContents(object);
    return range.getClientRects().length > 0;
  };
  const readText = (
    /** @type {Node} */ node,
    /** @type {boolean} */ visible,
    /** @type {boolean} */ keepsLines,
  ) => {
    if (cut) return;
    if (node instanceof Text) {
      if (!visible) return;
      if (!keepsLines) line += node.data;
      else
        for (const [index, part] of node.data.split('\n').entries()) {
          if (index > 0) endLine();
          line += part;
        }
      return;
    }
    if (!(node instanceof Element)) return;
    const name = nameOf(node);
    // What some of these contain is for browsers that do not know them.
    if (
      /^(script|style|noscript|template|head|title|meta|link|datalist|audio|video|canvas|progress|meter)$/.test(
        name,
      )
    )
      return;
    if (node instanceof SVGElement && !/^(svg|g|a|switch|text|foreignObject)$/.test(name)) return;
    const style = getComputedStyle(node);
    if (style.display === 'none' || style.contentVisibility === 'hidden') return;
    const shown = style.visibility === 'visible';
    if (name === 'br') return endLine();
    if (node instanceof SVGElement && name === 'text') {
      if (shown) line += ` ${node.textContent ?? ''}`;
      return endLine();
    }
    const frame = frames.get(node);
    if (frame !== undefined) {
      endLine();
      if (shown) lines.push(placeOfFrame(frame));
      return;
    }
    if (/^(iframe|frame|embed)$/.test(name) || (name === 'object' && !showsFallback(node))) return;
    const isBlock = BLOCKS.test(style.display);
    if (isBlock) endLine();
    if (style.display === 'table-cell' && line.trim() !== '') line += '\u{e002}';
    if (shown) {
      if (node instanceof HTMLInputElement) {
        if (!/^(hidden|password|checkbox|radio|file|image|range|color)$/.test(node.type))
          line += ` ${node.value || node.placeholder} `;
      } else if (node instanceof HTMLTextAreaElement) line += ` ${node.value || node.placeholder} `;
      else if (node instanceof HTMLSelectElement)
        line += ` ${[...node.selectedOptions].map((option) => option.label).join(' ')} `;
    }
    if (!(node instanceof HTMLTextAreaElement || node instanceof HTMLSelectElement)) {
      const keeps = /^(pre|pre-wrap|pre-line|break-spaces)$/.test(style.whiteSpace);
      const isClosed = node instanceof HTMLDetailsElement && !node.open;
      for (const child of childrenOf(node)) {
        if (isClosed && !(child instanceof Element && child.localName === 'summary') && !shadowOf(node))
          continue;
        readText(child, shown, keeps);
      }
    }
    if (isBlock) endLine();
  };
  const body = bodyOf(document);
  if (body) readText(body, true, false);
  endLine();

  // The document.
  const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
  const URLS = /^(href|src|action|formaction|data|poster|background|xlink:href)$/;
  /** @type {string[]} */
  const html = [];
  let length = 0;
  const write = (/** @type {string} */ text) => {
    length += text.length;
    if (length > maxCharacters) cut = true;
    else html.push(text);
  };
  const escaped = (/** @type {string} */ text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('\u00a0', '&nbsp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;');
  const attribute = (/** @type {string} */ name, /** @type {string} */ value) =>
    write(
      ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('\u00a0', '&nbsp;').replaceAll('"', '&quot;')}"`,
    );
  const rulesOf = (/** @type {CSSStyleSheet} */ sheet) => {
    try {
      return [...sheet.cssRules].map((rule) => rule.cssText).join('\n');
    } catch {
      // The rules of a style sheet from elsewhere cannot be read; its link stays.
      return null;
    }
  };
  const writeCss = (/** @type {string} */ css) => write(`>${css.replaceAll('</', '<\\/')}</style>`);
  const writeAdopted = (/** @type {CSSStyleSheet} */ sheet) => {
    const css = sheet.disabled ? null : rulesOf(sheet);
    if (css === null) return;
    write('<style');
    if (sheet.media.mediaText !== '') attribute('media', sheet.media.mediaText);
    writeCss(css);
  };
  /** Images that only the page has, as data. */
  const MAX_SIDE = 2_000;
  let pixelsLeft = 20_000_000;
  const dataOf = (/** @type {HTMLImageElement} */ image) => {
    const { naturalWidth, naturalHeight, currentSrc } = image;
    const scale = Math.min(1, MAX_SIDE / Math.max(naturalWidth, naturalHeight, 1));
    const canvas = /** @type {HTMLCanvasElement} */ (
      Document.prototype.createElement.call(document, 'canvas')
    );
    canvas.width = Math.round(naturalWidth * scale);
    canvas.height = Math.round(naturalHeight * scale);
    pixelsLeft -= canvas.width * canvas.height;
    if (pixelsLeft < 0) return currentSrc;
    try {
      canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
      return canvas.toDataURL();
    } catch {
      // What another site sent cannot be read.
      return currentSrc;
    }
  };
  const EMPTY_IMAGE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";
  // The styles of a page may name its canvases by their element, so the image has what places it and how it looks.
  const CANVAS_STYLES =
    'display position top right bottom left float z-index box-sizing width height margin padding border-top border-right border-bottom border-left border-radius background-color opacity visibility transform transform-origin vertical-align flex order align-self justify-self grid-area object-fit object-position image-rendering filter mix-blend-mode'.split(
      ' ',
    );
  const writeCanvas = (/** @type {HTMLCanvasElement} */ canvas) => {
    const style = getComputedStyle(canvas);
    write('<img');
    for (const { name, value } of canvas.attributes)
      if (/^(id|class|title|role|aria-.*)$/.test(name)) attribute(name, value);
    attribute('style', CANVAS_STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(';'));
    try {
      attribute('src', canvas.toDataURL());
    } catch {
      // A canvas that shows what another site sent cannot be read. The picture of the page shows it.
      attribute('src', EMPTY_IMAGE);
    }
    write('>');
  };
  /** What lies above the page by a call of a script lies there by its style. */
  const placeOf = (/** @type {Element} */ element) => {
    const { display, position, top, right, bottom, left } = getComputedStyle(element);
    return `display:${display};position:${position};inset:${top} ${right} ${bottom} ${left};z-index:2147483647`;
  };
  /** The number of a frame whose document is put in. A drawing stays at its address. */
  const frameOf = (/** @type {Element} */ element) => {
    const isDrawing =
      (element instanceof HTMLIFrameElement ||
        element instanceof HTMLObjectElement ||
        element instanceof HTMLEmbedElement) &&
      element.getSVGDocument() !== null;
    return isDrawing ? undefined : frames.get(element);
  };
  /** The attribute that gets the document of a frame. */
  const frameAttribute = (/** @type {Element} */ element) => {
    const name = nameOf(element);
    if (frameOf(element) === undefined || name === 'iframe') return 'srcdoc';
    return name === 'object' ? 'data' : 'src';
  };
  const stateOf = (/** @type {Element} */ element) => {
    /** @type {Map<string, string | null>} */
    const state = new Map();
    if (element instanceof HTMLInputElement) {
      if (element.type === 'password') state.set('value', null);
      else if (/^(checkbox|radio)$/.test(element.type)) state.set('checked', element.checked ? '' : null);
      // The others have the value of their attribute, or their own words.
      else if (!/^(file|submit|reset|button|image|hidden)$/.test(element.type))
        state.set('value', element.value);
    } else if (element instanceof HTMLOptionElement) state.set('selected', element.selected ? '' : null);
    else if (element instanceof HTMLImageElement && element.currentSrc) {
      // What was shown, so that it is found in the archive whatever the width of the window.
      state.set('src', element.currentSrc.startsWith('blob:') ? dataOf(element) : element.currentSrc);
      for (const name of ['srcset', 'sizes', 'loading']) state.set(name, null);
    } else if (element instanceof HTMLDialogElement || element instanceof HTMLDetailsElement)
      state.set('open', element.open ? '' : null);
    else if (
      (element instanceof HTMLStyleElement || element instanceof HTMLLinkElement) &&
      (element.disabled || element.sheet?.disabled)
    )
      state.set('media', 'not all');
    const frame = frameAttribute(element);
    if (frame !== 'srcdoc') state.set(frame, null);
    if (styles.has(element)) state.set('style', styles.get(element) ?? null);
    if (Element.prototype.matches.call(element, ':popover-open, :modal')) {
      const style = state.get('style') ?? Element.prototype.getAttribute.call(element, 'style') ?? '';
      state.set('style', `${style};${placeOf(element)}`);
    }
    return state;
  };
  const writeAttributes = (/** @type {Element} */ element) => {
    const state = stateOf(element);
    for (const { name, value } of attributesOf(element)) {
      if (/^on/i.test(name) || state.has(name) || /[\s"'<>/=]/.test(name)) continue;
      if (/^(nonce|integrity|ping|srcdoc)$/.test(name)) continue;
      if (URLS.test(name) && /^[\s\u0000-\u001f]*(javascript|vbscript)\s*:/i.test(value)) continue;
      attribute(name, value);
    }
    for (const [name, value] of state) if (value !== null) attribute(name, value);
  };
  const writeNode = (/** @type {Node} */ node) => {
    if (cut) return;
    if (node instanceof Text) {
      const parent = parentOf(node);
      write(parent && nameOf(parent) === 'style' ? node.data.replaceAll('</', '<\\/') : escaped(node.data));
      return;
    }
    if (!(node instanceof Element)) return;
    const name = nameOf(node);
    if (/^(script|noscript|base)$/.test(name)) return;
    if (name === 'meta' && node.hasAttribute('http-equiv')) return;
    if (
      name === 'link' &&
      /\b(preload|prefetch|modulepreload|preconnect|dns-prefetch|prerender|manifest)\b/i.test(
        node.getAttribute('rel') ?? '',
      )
    )
      return;
    if (node instanceof HTMLStyleElement) {
      const css = node.sheet && rulesOf(node.sheet);
      if (css === null) return;
      write('<style');
      writeAttributes(node);
      writeCss(css === '' ? (node.textContent ?? '') : css);
      return;
    }
    if (node instanceof HTMLCanvasElement) return writeCanvas(node);
    // The address that was chosen is that of the image.
    const parent = parentOf(node);
    if (node instanceof HTMLSourceElement && parent instanceof HTMLPictureElement) return;
    write(`<${name}`);
    writeAttributes(node);
    const frame = frameOf(node);
    if (frame !== undefined) {
      // The driver puts the frame's own document here.
      write(` ${placeOfFrame(`${frame}:${frameAttribute(node)}`)}></${name}>`);
      return;
    }
    write('>');
    if (VOID.test(name)) return;
    if (name === 'head') {
      write(
        `<base href="${baseOf(document).replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"><meta charset="utf-8">`,
      );
    }
    const shadow = shadowOf(node);
    if (shadow) {
      write('<template shadowrootmode="open">');
      for (const child of childNodesOf(shadow)) writeNode(child);
      for (const sheet of shadow.adoptedStyleSheets) writeAdopted(sheet);
      write('</template>');
    }
    // A parser leaves out an empty line at the beginning.
    const begins = node instanceof HTMLTextAreaElement ? node.value : node.firstChild?.nodeValue;
    if (/^(textarea|pre|listing)$/.test(name) && begins?.startsWith('\n')) write('\n');
    if (node instanceof HTMLTextAreaElement) write(escaped(node.value));
    else if (node instanceof HTMLTemplateElement)
      for (const child of childNodesOf(node.content)) writeNode(child);
    else for (const child of childNodesOf(node)) writeNode(child);
    if (name === 'head') for (const sheet of sheetsOf(document)) writeAdopted(sheet);
    write(`</${name}>`);
  };
  // Old pages look as they do because a browser lays them out by other rules.
  const LIMITED =
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">';
  const isLimited = /^-\/\/W3C\/\/DTD (XHTML 1\.0|HTML 4\.01) (Frameset|Transitional)\/\//i.test(
    doctypeOf(document)?.publicId ?? '',
  );
  if (modeOf(document) !== 'BackCompat') write(isLimited ? LIMITED : '<!doctype html>');
  const root = rootOf(document);
  if (root) writeNode(root);
  if (cut) write('</html>');
  const reading = { html: html.join(''), text: lines.join('\n') };
  scope[Symbol.for('strongroom.reading')] = reading;
  // What a page can make as long as it likes goes into one message.
  const MAX_TITLE_CHARACTERS = 1_000;
  const MAX_URL_CHARACTERS = 8_192;
  return {
    title: titleOf(document).slice(0, MAX_TITLE_CHARACTERS).toWellFormed(),
    url: location.href.slice(0, MAX_URL_CHARACTERS),
    cut,
    lengths: { html: reading.html.length, text: reading.text.length },
  };
}
