import { decodeText } from '../../derived/body/decodeBody.ts';
import { readBody } from '../../derived/body/readBody.ts';
import { MAX_MARKUP_CHARACTERS } from '../../derived/limits.ts';
import { NotDerivableError } from '../../derived/notDerivable.ts';
import type { PageResult, PageTask } from '../../derived/process/tasks.ts';
import { MAX_PAGE_BYTES, MAX_SHOWN_CHARACTERS } from '../limits.ts';
import { Resources } from './resources.ts';
import { rewritePage } from './rewritePage.ts';

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
    throw new NotDerivableError('too_large', 'The page as it would be shown is too large.');
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
