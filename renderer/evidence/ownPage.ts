import type { ProofCrypto } from '../../shared/proof/crypto/algorithms.ts';
import { type EvidenceClaim, sha256 } from '../../shared/proof/evidence/evidence.ts';
import { evidencePolicy, WITHOUT_SCRIPT } from '../../shared/proof/evidence/evidencePage.ts';

/** The digest of the style of this version. The build puts it here. */
declare const STYLE_SHA256: string;

/** The elements whose contents are verified by themselves, or written anew. */
const CONTENTS = new Set(['script', 'style', 'title']);

/** An element with its attributes and what is in it, a text, or the name of another node. */
type Shape = string | [name: string, attributes: Record<string, string>, ...children: Shape[]];

/**
 * What a document is made of. White space between elements does not count. It is compared as JSON, so that no value of an
 * attribute looks like an element.
 */
function shapesIn(parent: Node): Shape[] {
  return Array.from(parent.childNodes)
    .filter((node) => !(node instanceof Text && node.data.trim() === ''))
    .map((node) => {
      if (node instanceof Text) return node.data;
      if (!(node instanceof Element)) return `${node.nodeName} ${node.nodeType}`;
      const attributes = Array.from(node.attributes, ({ name, value }) => [name, value] as const);
      const children = CONTENTS.has(node.localName) ? [] : shapesIn(node);
      return [node.localName, Object.fromEntries(attributes), ...children];
    });
}

const writtenShapes = (policy: string): Shape[] => [
  `html ${Node.DOCUMENT_TYPE_NODE}`,
  [
    'html',
    { lang: 'en' },
    [
      'head',
      {},
      ['meta', { charset: 'utf-8' }],
      ['meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }],
      ['meta', { 'http-equiv': 'Content-Security-Policy', content: policy }],
      ['title', {}],
      ['style', {}],
    ],
    [
      'body',
      {},
      ['main', {}, ['p', {}, WITHOUT_SCRIPT]],
      ['script', { type: 'application/json', id: 'evidence' }],
      ['script', {}],
    ],
  ],
];

/**
 * Says if something else is in the document than Strongroom writes: text beside the report, a style that hides some of it, a
 * second block of data. Whoever changes the script can have it say anything. So this only helps against changes that leave it
 * alone; what an extension of the browser adds looks the same. Called before anything is shown.
 *
 * @param script the text of the script that runs
 */
export function checkOwnPage(page: Document, script: string, crypto: ProofCrypto): EvidenceClaim[] {
  const written = writtenShapes(evidencePolicy(script, crypto));
  const isSame = JSON.stringify(shapesIn(page)) === JSON.stringify(written);
  const isOwn = isSame && isOwnStyle(page.querySelector('style'), crypto);
  if (isOwn) return [];
  return [
    {
      id: 'form',
      name: 'Nothing else is in this page than the report.',
      state: 'unproven',
      detail:
        'Something in it is not as Strongroom writes it, such as a text, a style or a second block of data. Somebody changed the file, a browser saved it as a complete page instead of as it was, or an extension of your browser changes pages. Rely on “strongroom verify” or the page Verify of a node, not on what is shown here.',
    },
  ];
}

function isOwnStyle(style: Element | null, crypto: ProofCrypto): boolean {
  // The first line break is not of the style.
  const text = style?.textContent.replace(/^\n/, '');
  return text !== undefined && sha256(text, crypto) === STYLE_SHA256;
}

/**
 * Makes a page with nothing but the report, the own style and the scripts: a body can also have a root that no script sees, and
 * an attribute can show a picture. Returns the element for the report.
 */
export function emptyPage(page: Document, script: Element | null, crypto: ProofCrypto): HTMLElement {
  const [body, main] = [page.createElement('body'), page.createElement('main')];
  // A page that is saved from the browser keeps its data.
  body.append(main, ...page.querySelectorAll('script#evidence'), ...(script ? [script] : []));
  page.body = body;
  const style = Array.from(page.querySelectorAll('style')).find((each) => isOwnStyle(each, crypto));
  const own = page.createElement('style');
  own.textContent = style?.textContent ?? '';
  page.head.replaceChildren(...page.querySelectorAll('head > meta, head > title'), own);
  for (const each of [page.documentElement, page.head, ...page.querySelectorAll('title')])
    for (const { name } of Array.from(each.attributes)) each.removeAttribute(name);
  page.documentElement.lang = 'en';
  return main;
}
