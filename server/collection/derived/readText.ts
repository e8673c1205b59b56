import type { FoundText, ObjectText, SearchQuery } from '../../../shared/derived.ts';
import type { Slice } from '../../../shared/list.ts';
import { Problem } from '../../../shared/problems.ts';
import { derivedDocument } from '../../store/sqlite/collection/derivedDocuments.ts';
import { searchTexts } from '../../store/sqlite/collection/documentSearch.ts';
import { matchExpression, searchTerms } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';
import { requireObject } from '../timeline/objects.ts';
import { decompressContent, decompressJson } from './content.ts';
import { MAX_SEARCHED_CHARACTERS } from './limits.ts';
import { snippetOf } from './snippet.ts';
import type { TextContent } from './tasks.ts';
import type { Texts } from './texts.ts';

/**
 * The text of an archived object as the JSON of an `ObjectText`, made now if it was not yet.
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
    throw new Problem('not_derivable', `This object has no text to read. ${detail ?? ''}`.trimEnd(), {
      members: { reason: outcome },
    });
  const derived = { tool, version: tool_version, made_at };
  const named: Omit<ObjectText, keyof TextContent> = { sha256, objects, derived };
  // Joined as texts: a long one is neither read nor written anew here.
  return `${JSON.stringify(named).slice(0, -1)},${(await decompressJson(content)).slice(1)}`;
}

/** After so long at a stretch, snippets let others have their turn. */
const LONGEST_STRETCH_MS = 10;

/** One page of the sources whose current version's text holds what is searched for, each with the part that does. */
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
    if (performance.now() - since < LONGEST_STRETCH_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
  return { items, total };
}
