import type { RecordedPage } from '../../../shared/collection/page.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isAnyWithheldForItself, isShownInPage } from '../../store/sqlite/node/covered.ts';
import { isAnyGivenUp } from '../../store/sqlite/node/withheld.ts';
import { isHidden } from '../record/recordRetrieval.ts';

type Requests = readonly Pick<RecordedPage['requests'][number], 'sha256' | 'type'>[];

/** What a page was drawn from, what it asked for, and what it showed. */
interface DrawnPage extends Pick<RecordedPage, 'document' | 'text'> {
  /** The digest of the object from which it was drawn. */
  drawnFrom: string | null;
  requests: Requests;
}

/**
 * Whether a page was drawn from an object that visitors may not read, or shows what another one did that they may not, or a
 * part that is withheld for itself. Its record does not quote it then.
 */
export function isOfHidden(database: WriteDatabase, page: DrawnPage): boolean {
  const { drawnFrom, document, text, requests } = page;
  if ([drawnFrom, document, text].some((sha256) => isHidden(database, sha256))) return true;
  return isAnyWithheldForItself(database, shownDigests(requests));
}

/**
 * Whether a page was drawn from bytes that were given up for another reason than their age, or shows such bytes. Nothing of
 * it is kept then.
 */
export function showsGivenUp(
  database: ReadDatabase,
  { drawnFrom, requests }: Pick<DrawnPage, 'drawnFrom' | 'requests'>,
): boolean {
  return isAnyGivenUp(database, [...(drawnFrom === null ? [] : [drawnFrom]), ...shownDigests(requests)]);
}

/** The digests of the parts whose bytes a page may show. */
function shownDigests(requests: Requests): string[] {
  return requests.filter(isShownInPage).flatMap(({ sha256 }) => sha256 ?? []);
}
