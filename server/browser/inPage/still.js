/*
 * Run in a world of their own in a frame that was drawn, as those in read.js are, and sent to the browser as text like them.
 */

/**
 * Brings a page to a standstill, so that it is always drawn in the same state, and shows all that a person could scroll to.
 *
 * Animations with an end are drawn at their end, others and videos at their start. What is animated by being scrolled into
 * view is shown as it is without that, because the picture is not scrolled.
 *
 * What the browser does not draw because it is far from the window (`content-visibility: auto`) is shown, with the
 * containment that it has, so that nothing moves. `readDocument` writes the styles that these elements had.
 *
 * Style sheets stay those of a page with scripts when its scripts are stopped: that changes what `@media (scripting)`
 * says. The rules of a style sheet from another site cannot be read; they change, but before the text is read.
 *
 * @param {boolean} seeks whether to wait until videos show their start. That needs timers, which stop with the scripts.
 * @returns {Promise<unknown>} resolves when videos show their start
 */
export function standStill(seeks) {
  const scope = /** @type {any} */ (globalThis);
  /** The document and its shadow trees. @type {(Document | ShadowRoot)[]} */
  const trees = [document];
  /** @type {Element[]} */
  const elements = [];
  // Not by the members of an element or document, which a page can cover by naming another element like them.
  for (const tree of trees) {
    const { prototype } = tree instanceof Document ? Document : DocumentFragment;
    for (const element of prototype.querySelectorAll.call(tree, '*')) {
      elements.push(element);
      const shadow = Reflect.get(Element.prototype, 'shadowRoot', element);
      if (shadow) trees.push(shadow);
    }
  }

  /** @type {Map<Element, string | null>} */
  const styles = (scope[Symbol.for('strongroom.styles')] ??= new Map());
  for (const element of elements) {
    const computed = getComputedStyle(element);
    if (computed.contentVisibility !== 'auto') continue;
    const { contain } = computed;
    if (!styles.has(element)) styles.set(element, Element.prototype.getAttribute.call(element, 'style'));
    /** @type {CSSStyleDeclaration | undefined} */
    const style =
      element instanceof HTMLElement
        ? Reflect.get(HTMLElement.prototype, 'style', element)
        : /** @type {any} */ (element).style;
    const size = /strict|(?<!-)\bsize/.test(contain)
      ? 'size'
      : contain.includes('inline-size')
        ? 'inline-size'
        : '';
    style?.setProperty('contain', `${size} layout style paint`, 'important');
    style?.setProperty('content-visibility', 'visible', 'important');
  }

  const { ViewTimeline } = scope;
  const animationsOf = (/** @type {Document | ShadowRoot} */ tree) =>
    (tree instanceof Document ? Document : ShadowRoot).prototype.getAnimations.call(tree);
  for (const animation of trees.flatMap(animationsOf)) {
    try {
      if (ViewTimeline && animation.timeline instanceof ViewTimeline) {
        animation.cancel();
        continue;
      }
      const { endTime } = animation.effect?.getComputedTiming() ?? {};
      if (typeof endTime === 'number' && Number.isFinite(endTime) && animation.playbackRate > 0)
        animation.finish();
      else {
        animation.pause();
        animation.currentTime = 0;
      }
    } catch {
      // An animation without a target or with a rate of 0 stays as it is.
    }
  }

  const replaced = (/** @type {MediaList} */ media) => {
    if (!media.mediaText.includes('scripting')) return;
    // In brackets as they were, so that the rest of the query stays.
    media.mediaText = media.mediaText
      .replace(/\(\s*scripting\s*(:\s*enabled\s*)?\)/gi, '(min-width: 0px)')
      .replace(/\(\s*scripting\s*:[^)]*\)/gi, '(max-width: 0px)');
  };
  /** Goes through a style sheet, or a rule that contains others. */
  const keepScripting = (/** @type {any} */ from) => {
    try {
      if (from.media) replaced(from.media);
      if (from.styleSheet) keepScripting(from.styleSheet);
      for (const rule of from.cssRules ?? []) keepScripting(rule);
    } catch {
      // A style sheet from elsewhere.
    }
  };
  for (const tree of trees) {
    const { prototype } = tree instanceof Document ? Document : ShadowRoot;
    for (const name of ['styleSheets', 'adoptedStyleSheets'])
      for (const sheet of Reflect.get(prototype, name, tree)) keepScripting(sheet);
  }

  const MAX_SEEK_MS = 1_000;
  /** @type {Promise<unknown>[]} */
  const waiting = [];
  for (const media of elements) {
    if (!(media instanceof HTMLMediaElement)) continue;
    media.pause();
    // Nothing is fetched any more, so the start must still be there.
    const { played, buffered, currentTime, duration } = media;
    if (!seeks || played.length === 0 || currentTime === 0 || !Number.isFinite(duration)) continue;
    if (buffered.length === 0 || buffered.start(0) > 0) continue;
    waiting.push(
      new Promise((resolve) => {
        media.addEventListener('seeked', resolve, { once: true });
        setTimeout(resolve, MAX_SEEK_MS);
        media.currentTime = 0;
      }),
    );
  }
  return Promise.all(waiting);
}

/**
 * Prepares what the browser itself moves or shows, for the picture of a page whose scripts are stopped. Run after
 * `readDocument`, because it changes the document.
 *
 * A bar of progress without a value is drawn empty. `noscript` stays hidden, though scripts do not run any more.
 *
 * @returns {number} how many elements `builtIn` finds: marquees and the controls of media, which the driver stops
 */
export function stillBuiltIns() {
  const scope = /** @type {any} */ (globalThis);
  const MAX_ELEMENTS = 100;
  const MAX_ATTRIBUTE_CHARACTERS = 10_000;
  const sheet = new CSSStyleSheet();
  // Without scripts the browser shows controls on every video, over what is behind it.
  sheet.replaceSync(`noscript { display: none !important }
    video:not([controls])::-webkit-media-controls { display: none !important }
    progress::-webkit-progress-inner-element, progress::-webkit-progress-bar, progress::-webkit-progress-value {
      animation: none !important; transition: none !important
    }`);
  /** @type {Element[]} */
  const found = [];
  /** @type {(Document | ShadowRoot)[]} */
  const trees = [document];
  for (const tree of trees) {
    const owner = (tree instanceof Document ? Document : ShadowRoot).prototype;
    const sheets = Reflect.get(owner, 'adoptedStyleSheets', tree);
    Reflect.set(owner, 'adoptedStyleSheets', [...sheets, sheet], tree);
    const { prototype } = tree instanceof Document ? Document : DocumentFragment;
    for (const element of prototype.querySelectorAll.call(tree, '*')) {
      const shadow = Reflect.get(Element.prototype, 'shadowRoot', element);
      if (shadow) trees.push(shadow);
      if (element instanceof HTMLProgressElement && element.position < 0) element.value = 0;
      if (element instanceof HTMLMarqueeElement) element.stop();
      else if (!(element instanceof HTMLMediaElement && element.controls)) continue;
      // The driver gets a description of each, with its attributes.
      const characters = [...element.attributes].reduce((sum, { value }) => sum + value.length, 0);
      if (characters <= MAX_ATTRIBUTE_CHARACTERS && found.length < MAX_ELEMENTS) found.push(element);
    }
  }
  scope[Symbol.for('strongroom.builtIn')] = found;
  return found.length;
}

/**
 * Returns an element that `stillBuiltIns` found.
 *
 * @param {number} index
 */
export function builtIn(index) {
  return /** @type {any} */ (globalThis)[Symbol.for('strongroom.builtIn')][index];
}

/**
 * Stops what moves within an element of the browser: the words of a marquee are drawn where they are at rest, and the
 * controls of a video without the circle that turns while it loads. `this` is the part that moves.
 *
 * @this {Element}
 */
export function stillPart() {
  for (const animation of this.getAnimations({ subtree: true })) animation.cancel();
  const loading = this.querySelector('[pseudo="-internal-media-controls-loading-panel"]');
  if (loading instanceof HTMLElement) loading.style.setProperty('display', 'none', 'important');
}
