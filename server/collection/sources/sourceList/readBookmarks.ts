import { Parser } from 'htmlparser2';
import { MAX_LIST_ENTRIES } from '../../../../shared/collection/source.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';

/** What a title or a tag may have at most; browsers keep longer ones. */
const MAX_NAME = 200;
const MAX_TAG = 100;
const MAX_TAGS = 50;

/**
 * Reads the bookmarks that a browser exported (Netscape HTML). The title of a bookmark is its name; the folders around it
 * and its own `TAGS` are its tags.
 *
 * @throws SourceListError if it is another kind of HTML.
 */
export function readBookmarks(text: string): ListedEntry[] {
  if (!/^\ufeff?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1/i.test(text))
    throw new SourceListError(
      'The HTML is not a list of bookmarks: it does not begin with <!DOCTYPE NETSCAPE-Bookmark-file-1>.',
    );
  const entries: ListedEntry[] = [];
  const folders: string[] = [];
  // The list that follows a heading is what is in that folder.
  let heading = '';
  let open: { entry?: ListedEntry; own: string[]; title: string } | undefined;
  let [line, counted] = [1, 0];
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'dl') {
        folders.push(heading);
        heading = '';
      } else if (name === 'h3') open = { own: [], title: '' };
      else if (name === 'a' && attributes.href !== undefined && entries.length <= MAX_LIST_ENTRIES) {
        for (const end = parser.startIndex; counted < end; counted += 1)
          if (text[counted] === '\n') line += 1;
        const entry: ListedEntry = { line, url: attributes.href.trim(), fields: {} };
        entries.push(entry);
        open = { entry, own: (attributes.tags ?? '').split(','), title: '' };
      }
    },
    ontext(data) {
      if (open && open.title.length <= MAX_NAME) open.title += data;
    },
    onclosetag(name) {
      if (name === 'dl') folders.pop();
      else if (open && (name === 'h3' || name === 'a')) {
        const { entry, own, title } = open;
        if (entry) entry.fields = { name: cut(title, MAX_NAME), tags: tagsOf([...folders, ...own]) };
        else heading = title;
        open = undefined;
      }
    },
  });
  parser.end(text);
  return entries;
}

function tagsOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => cut(name, MAX_TAG)).filter(Boolean))].slice(0, MAX_TAGS);
}

function cut(text: string, max: number): string {
  return Array.from(text.replace(/\s+/g, ' ').trim()).slice(0, max).join('').trim();
}
