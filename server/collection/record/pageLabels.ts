import type { PageLabel } from '../../../shared/collection/event.ts';
import { factsOf, findingsIn, labelOf } from './quality/judgePage.ts';
import type { PageResponse } from './quality/pageHtml.ts';

export type { PageResponse } from './quality/pageHtml.ts';

/**
 * Detects responses that are probably not the requested page: a bot wall, a rate limit, an error page with status 200, or
 * a shell whose text is made by scripts. A label is only a remark; it does not change how the response is recorded. The
 * rules are narrow on purpose, because a wrong label is worse than none.
 */
export async function detectPageLabel(page: PageResponse): Promise<PageLabel | null> {
  return (await describePage(page)).page_label;
}

/** Returns the label of a response, and its title with collapsed white space, or null if it has none. */
export async function describePage(
  page: PageResponse,
): Promise<{ page_label: PageLabel | null; title: string | null }> {
  const facts = await factsOf(page);
  return { page_label: labelOf(findingsIn(facts)), title: facts.title };
}
