import type { RecordedPage } from '../../../shared/collection/page.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isAnyWithheldForItself, isShownInPage } from '../../store/sqlite/node/covered.ts';
import { wholesInPage } from '../../store/sqlite/node/pieces.ts';
import { isAnyGivenUp } from '../../store/sqlite/node/withheld.ts';
import { isHidden } from '../record/recordRetrieval.ts';

/** What a page was drawn from, what it asked for, and what it showed. */
interface DrawnPage extends Pick<RecordedPage, 'id' | 'document' | 'text'> {
  /** The digest of the object from which it was drawn. */
  drawnFrom: string | null;
  requests: readonly Pick<RecordedPage['requests'][number], 'sha256' | 'type'>[];
}

/**
 * Whether a page was drawn from an object that visitors may not read, or shows what another one did that they may not, or a
 * part that is withheld for itself. Its record does not quote it then. Its parts must be recorded.
 */
export function isOfHidden(database: WriteDatabase, page: DrawnPage): boolean {
  const { drawnFrom, document, text } = page;
  if ([drawnFrom, document, text].some((sha256) => isHidden(database, sha256))) return true;
  return isAnyWithheldForItself(database, shownDigests(database, page));
}

/**
 * Whether a page was drawn from bytes that were given up for another reason than their age, or shows such bytes. Nothing of
 * it is kept then. Its parts must be recorded: otherwise nothing is known of what it loaded in pieces.
 */
export function showsGivenUp(
  database: ReadDatabase,
  page: Pick<DrawnPage, 'id' | 'drawnFrom' | 'requests'>,
): boolean {
  const drawnFrom = page.drawnFrom === null ? [] : [page.drawnFrom];
  return isAnyGivenUp(database, [...drawnFrom, ...shownDigests(database, page)]);
}

/** The digests of the objects that a page may show: of its parts, and of what it loaded in pieces. */
function shownDigests(
  database: ReadDatabase,
  { id, requests }: Pick<DrawnPage, 'id' | 'requests'>,
): string[] {
  const parts = requests.filter(isShownInPage).flatMap(({ sha256 }) => sha256 ?? []);
  return [...parts, ...wholesInPage(database, { page: id })];
}
