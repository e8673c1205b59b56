import { type DefaultTreeAdapterTypes, defaultTreeAdapter, serializeOuter, html as spec } from 'parse5';
import { PageWriter } from './pageWriter.ts';
import { parseBounded } from './parseBounded.ts';
import type { Resources } from './resources.ts';

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

export interface RewrittenPage {
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
export function rewritePage(html: string, url: string, resources: Resources): RewrittenPage {
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
