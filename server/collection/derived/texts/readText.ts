import type { FoundText, ObjectText, SearchQuery } from '../../../../shared/collection/derived.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import { derivedDocument } from '../../../store/sqlite/collection/derivedDocuments.ts';
import { searchTexts } from '../../../store/sqlite/collection/documentSearch.ts';
import { matchExpression, searchTerms } from '../../../store/sqlite/engine/search.ts';
import type { Store } from '../../../store/store.ts';
import { requireObject } from '../../timeline/objects.ts';
import { decompressContent, decompressJson } from '../content.ts';
import { MAX_SEARCHED_CHARACTERS } from '../limits.ts';
import type { TextContent } from '../process/tasks.ts';
import { snippetOf } from './snippet.ts';
import type { Texts } from './texts.ts';

/**
 * Returns the text of an archived object as the JSON of an `ObjectText`. Extracts it if it is not stored yet.
 *
 * @throws Problem `invalid_digest`, `not_found`; `not_derivable` with the reason; `derivation_busy`.
 */
export async function readObjectText(
  { read }: Pick<Store, 'read'>,
  texts: Texts,
  sha256: string,
): Promise<string> {
  requireObject(read, sha256);
  const { content, outcome, detail, objects, tool, tool_version, made_at } = await texts.textOf(sha256);
  if (content === null)
    throw new Problem('not_derivable', `This object has no readable text. ${detail ?? ''}`.trimEnd(), {
      members: { reason: outcome },
    });
  const derived = { tool, version: tool_version, made_at };
  const header: Omit<ObjectText, keyof TextContent> = { sha256, objects, derived };
  // The JSON is concatenated, so that a long text is not parsed and serialised again.
  return `${JSON.stringify(header).slice(0, -1)},${(await decompressJson(content)).slice(1)}`;
}

/** While snippets are made, the event loop gets a turn after this long. */
const YIELD_AFTER_MS = 10;

/** Returns one page of the sources whose current version's text matches the search, each with a snippet. */
export async function searchObjectTexts(
  { read }: Pick<Store, 'read'>,
  { q = '', limit, offset }: SearchQuery,
): Promise<Slice<FoundText>> {
  const { rows, total } = read
    .transaction(() => searchTexts(read, matchExpression(q) ?? null, { limit, offset }))
    .deferred();
  const terms = searchTerms(q);
  const items: FoundText[] = [];
  let since = performance.now();
  for (const { sha256, observed_at, title, tool, tool_version, made_at, ...source } of rows) {
    const content = derivedDocument(read, 'text', sha256)?.content;
    const text = content
      ? decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS)
      : '';
    const snippet = snippetOf(text, terms);
    const derived = { tool, version: tool_version, made_at };
    items.push({ source, sha256, observed_at, title, snippet, derived });
    if (performance.now() - since < YIELD_AFTER_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
  return { items, total };
}
