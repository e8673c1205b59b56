/*
 * What of an archived page is left out of its view or becomes something else, so that the page can never run.
 */

/** Elements that are left out with their content: they run, load or embed something, or belong to a script. */
export const DROPPED_ELEMENTS: ReadonlySet<string> = new Set([
  'applet',
  'base',
  'embed',
  'fencedframe',
  'meta',
  'noembed',
  'noframes',
  'object',
  'param',
  'portal',
  'script',
  'track',
  // Animations of SVG can set an address.
  'animate',
  'animateColor',
  'animateMotion',
  'animateTransform',
  'discard',
  'handler',
  'listener',
  'set',
]);

/** Elements that become others, which have no behaviour. The content of raw text elements would not be escaped. */
export const RENAMED_ELEMENTS: Readonly<Record<string, string>> = {
  form: 'div',
  frameset: 'div',
  listing: 'pre',
  plaintext: 'pre',
  xmp: 'pre',
};

export const FRAMES: ReadonlySet<string> = new Set(['iframe', 'frame']);

/** Inert without a form; disabled so that they look so. */
export const CONTROLS: ReadonlySet<string> = new Set(['button', 'input', 'select', 'textarea']);

/** Attributes that are left out: they load, send, run or navigate, or concern only scripts. Handlers (`on…`) go too. */
export const DROPPED_ATTRIBUTES: ReadonlySet<string> = new Set([
  'action',
  'archive',
  'attributionsrc',
  'autofocus',
  'autoplay',
  'background',
  'cite',
  'classid',
  'code',
  'codebase',
  'command',
  'commandfor',
  'contenteditable',
  'crossorigin',
  'data',
  'download',
  'dynsrc',
  'enctype',
  'fetchpriority',
  'form',
  'formaction',
  'formenctype',
  'formmethod',
  'formtarget',
  'href',
  'http-equiv',
  'imagesizes',
  'imagesrcset',
  'integrity',
  'is',
  'itemid',
  'loading',
  'longdesc',
  'lowsrc',
  'manifest',
  'nonce',
  'ping',
  'popovertarget',
  'popovertargetaction',
  'poster',
  'profile',
  'referrerpolicy',
  'sizes',
  'src',
  'srcdoc',
  'srcset',
  'style',
  'target',
]);
