import { Parser } from 'htmlparser2';
import { MAX_LIST_ENTRIES } from '../../../../shared/collection/source.ts';
import { type ListedEntry, lineCounter, SourceListError } from './listedEntry.ts';

/** What a title or a tag may have at most; browsers keep longer ones. */
const MAX_NAME = 200;
const MAX_TAG = 100;
const MAX_BOOKMARK_TAGS = 50;
/** How much of a title is read. */
const MAX_TITLE_CHARACTERS = 5_000;

/** How much of a tag is read: it may have a picture. */
const MAX_TAG_CHARACTERS = 131_072;

/** A tag of the format, without what is in it. */
const TAG =
  /^<(!doctype|\/?(?:dl|dt|dd|p|h1|h3|a|hr|title|meta|html|head|body))(?=[\s>/])((?:[^>"'\r\n]|"[^"\r\n]*"|'[^'\r\n]*')*)>/i;
const SPACE = /\s*/y;
/** What ends a text: a line end, or the next item of a file without line ends. */
const AFTER_TEXT = /\r\n?|\n|<dt>\s*(?=<(?:a|h3)\s)|<\/dl>(?=\s*(?:<p>|<\/?d[lt]>|$))/gi;

/**
 * Reads the bookmarks that a browser exported (Netscape). The format looks like HTML and is none: it goes by lines, and what a
 * person wrote in titles and descriptions is often not escaped, so a `<script>` in a description is text. The title of a bookmark
 * is its name; the folders around it and its own `TAGS` are its tags.
 *
 * @throws SourceListError if it is another kind of HTML.
 */
export function readBookmarks(text: string): ListedEntry[] {
  if (
    !/^\ufeff?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1/i.test(text) &&
    !/<dl[\s>]/i.test(text.slice(0, indexOfItem(text)))
  )
    throw new SourceListError(
      'The HTML is not a list of bookmarks: it begins with no <!DOCTYPE NETSCAPE-Bookmark-file-1>, and has no list <DL> with items <DT><A HREF="…">.',
    );
  const entries: ListedEntry[] = [];
  const folders: string[] = [];
  const lineOf = lineCounter(text);
  // The list that follows a heading is what is in that folder.
  let heading = '';
  let at = 0;
  const titleUntil = (end: RegExp): string => {
    const rest = text.slice(at, at + MAX_TITLE_CHARACTERS);
    // A title without its end is what is left of its line.
    const found = end.exec(rest) ?? /[\r\n]|$/.exec(rest);
    at += found?.index ?? 0;
    return unescaped(rest.slice(0, found?.index));
  };
  while (at < text.length && entries.length <= MAX_LIST_ENTRIES) {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    const start = SPACE.lastIndex;
    const beginning = text.slice(start, start + MAX_TAG_CHARACTERS);
    const tag = TAG.exec(beginning);
    if (!tag) {
      at = endOfText(text, start);
      if (/^<a\s/i.test(beginning))
        entries.push({
          line: lineOf(start),
          url: text.slice(start, at),
          fields: {},
          unreadable: 'The bookmark cannot be read: its tag has no end.',
        });
      continue;
    }
    at = start + tag[0].length;
    const [, name = '', written = ''] = tag;
    switch (name.toLowerCase()) {
      case 'dl':
        folders.push(heading);
        heading = '';
        break;
      case '/dl':
        folders.pop();
        break;
      case 'h3':
        heading = titleUntil(/<\/h3/i);
        break;
      case 'dd':
      case 'title':
      case 'h1':
        at = endOfText(text, at);
        break;
      case 'a': {
        const attributes = attributesOf(written);
        const line = lineOf(start);
        const name = cut(titleUntil(/<\/a\s*>/i), MAX_NAME);
        const href = attributes.get('href')?.trim();
        const tags = tagsOf([...folders, ...(attributes.get('tags') ?? '').split(',')]);
        entries.push({
          line,
          url: href ?? name,
          fields: { name, tags },
          ...(href === undefined && { unreadable: 'The bookmark has no address.' }),
        });
        break;
      }
    }
  }
  return entries;
}

function indexOfItem(text: string): number {
  return /<dt>\s*<a\s/i.exec(text)?.index ?? 0;
}

function endOfText(text: string, start: number): number {
  AFTER_TEXT.lastIndex = start;
  const found = AFTER_TEXT.exec(text);
  return found?.index ?? text.length;
}

/** Returns the attributes of a tag by their names in lower case, with quotes or without. */
function attributesOf(written: string): Map<string, string> {
  const found = written.matchAll(/([^\s=>"'/]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g);
  return new Map(
    [...found].map(([, name = '', double, single, plain]) => [
      name.toLowerCase(),
      unescaped(double ?? single ?? plain ?? ''),
    ]),
  );
}

/** Decodes the character references of a text, in which `<` may be a sign. */
function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  let found = '';
  const parser = new Parser({ onopentag: (_, { title = '' }) => void (found = title) });
  parser.end(`<a title="${text.replaceAll('"', '&quot;')}">`);
  return found;
}

function tagsOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => cut(name, MAX_TAG)).filter(Boolean))].slice(0, MAX_BOOKMARK_TAGS);
}

function cut(text: string, max: number): string {
  return Array.from(text.replace(/\s+/g, ' ').trim()).slice(0, max).join('').trim();
}
