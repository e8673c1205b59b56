import type { ProofCrypto } from '../../shared/proof/crypto/algorithms.ts';
import { type EvidenceClaim, sha256 } from '../../shared/proof/evidence/evidence.ts';
import { evidencePolicy } from '../../shared/proof/evidence/evidencePage.ts';

/** The digest of the style of this version. The build puts it here. */
declare const STYLE_SHA256: string;

/** The elements whose contents are verified by themselves, or replaced by the report. */
const CONTENTS = new Set(['main', 'script', 'style', 'title']);

/** What a document is made of: its elements with their attributes, its texts but for white space, its comments. */
function shapeOf(node: Node): string {
  if (node instanceof Text) return node.data.trim() === '' ? '' : 'text ';
  if (!(node instanceof Element)) return node instanceof DocumentType ? `doctype ${node.name} ` : '? ';
  const attributes = Array.from(node.attributes, ({ name, value }) => ` ${name}=${value}`).join('');
  const isSkipped = CONTENTS.has(node.localName);
  return `${node.localName}${attributes} (${isSkipped ? '' : Array.from(node.childNodes, shapeOf).join('')}) `;
}

const writtenShape = (policy: string) =>
  `doctype html html lang=en (head (meta charset=utf-8 () meta name=viewport content=width=device-width, initial-scale=1 () \
meta http-equiv=Content-Security-Policy content=${policy} () title () style () ) \
body (main () script type=application/json id=evidence () script () ) ) `;

/**
 * Says if something else is in the document than Strongroom writes: text beside the report, a style that hides some of it, a
 * second block of data. Whoever changes the script can have it say anything. So this only helps against changes that leave it
 * alone; what an extension of the browser adds looks the same. Called before anything is shown.
 *
 * @param script the text of the script that runs
 */
export function checkOwnPage(page: Document, script: string, crypto: ProofCrypto): EvidenceClaim[] {
  const shape = Array.from(page.childNodes, shapeOf).join('');
  const style = page.querySelector('style');
  const isOwn = shape === writtenShape(evidencePolicy(script, crypto)) && isOwnStyle(style, crypto);
  if (isOwn) return [];
  return [
    {
      id: 'form',
      name: 'Nothing else is in this page than the report.',
      state: 'unproven',
      detail:
        'Something in it is not as Strongroom writes it, such as a text, a style or a second block of data. Somebody changed the file, or an extension of your browser changes pages. Rely on “strongroom verify” or the page Verify of a node, not on what is shown here.',
    },
  ];
}

function isOwnStyle(style: Element | null, crypto: ProofCrypto): boolean {
  // The first line break is not of the style.
  const text = style?.textContent.replace(/^\n/, '');
  return text !== undefined && sha256(text, crypto) === STYLE_SHA256;
}

/**
 * Makes a page with nothing but the report and the scripts: a body can also have a root that no script sees. Returns the
 * element for the report.
 */
export function emptyPage(page: Document, script: Element | null, crypto: ProofCrypto): HTMLElement {
  const [body, main] = [page.createElement('body'), page.createElement('main')];
  // A page that is saved from the browser keeps its data.
  body.append(main, ...page.querySelectorAll('script#evidence'), ...(script ? [script] : []));
  page.body = body;
  for (const each of page.querySelectorAll('style, link')) if (!isOwnStyle(each, crypto)) each.remove();
  return main;
}
