import {
  type DefaultTreeAdapterTypes,
  defaultTreeAdapter,
  Parser,
  serializeOuter,
  html as spec,
  Tokenizer,
} from 'parse5';
import { decodeText, readBody } from '../../derived/body.ts';
import {
  MAX_ATTRIBUTES,
  MAX_MARKUP_CHARACTERS,
  MAX_OPEN_ELEMENTS,
  MAX_PAGE_BYTES,
  MAX_SHOWN_CHARACTERS,
} from '../../derived/limits.ts';
import { NotDerivableError, type PageResult, type PageTask } from '../../derived/process/tasks.ts';
import { PageWriter } from './pageWriter.ts';
import { Resources } from './resources.ts';

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
