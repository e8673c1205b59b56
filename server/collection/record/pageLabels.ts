import type { PageLabel } from '../../../shared/collection/event.ts';
import { findingsOf, labelOf } from './quality/judgePage.ts';
import { findTitle, htmlOf, type PageResponse } from './quality/pageHtml.ts';

export type { PageResponse } from './quality/pageHtml.ts';

/**
 * Detects responses that are probably not the requested page: a bot wall, a rate limit, an error page with status 200, or
 * a shell whose text is made by scripts. A label is only a remark; it does not change how the response is recorded. The
 * rules are narrow on purpose, because a wrong label is worse than none.
 */
export async function detectPageLabel(page: PageResponse): Promise<PageLabel | null> {
  return labelOf(await findingsOf(page));
}

/** Returns the title of an HTML page with collapsed white space, or null if there is none. */
export function pageTitle(
  page: Pick<PageResponse, 'headers' | 'content_type' | 'beginning'>,
): Promise<string | null> {
  return findTitle(htmlOf(page));
}
