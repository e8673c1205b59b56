import type { FoundText, ObjectText, SearchQuery, Snippet } from '../../../../shared/collection/derived.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import { derivedDocument } from '../../../store/sqlite/collection/derivedDocuments.ts';
import {
  foundFile,
  foundVersion,
  searchTexts,
  type TextHit,
} from '../../../store/sqlite/collection/documentSearch.ts';
import { sourceKeyOf } from '../../../store/sqlite/collection/sources.ts';
import { expressionOf, type SearchTerms, textSearchTerms } from '../../../store/sqlite/engine/search.ts';
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

/** Returns one page of the sources and files whose text matches the search, each with a snippet. */
export async function searchObjectTexts(
  { read }: Pick<Store, 'read'>,
  { q = '', in: part, source: sourceId, limit, offset }: SearchQuery,
): Promise<Slice<FoundText>> {
  const source = sourceId === undefined ? null : (sourceKeyOf(read, sourceId) ?? null);
  if (sourceId !== undefined && source === null) return { items: [], total: 0 };
  const terms = textSearchTerms(q);
  const scope = {
    match: expressionOf(terms) ?? null,
    sources: part !== 'packs',
    packs: part !== 'sources' && source === null,
    source,
  };
  const { hits, total } = read.transaction(() => searchTexts(read, scope, { limit, offset })).deferred();
  const items: FoundText[] = [];
  let since = performance.now();
  for (const hit of hits) {
    const found = foundText(read, hit, terms);
    if (found) items.push(found);
    if (performance.now() - since < YIELD_AFTER_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
  return { items, total };
}

/** Returns a hit as it is sent, or undefined if its text was deleted meanwhile. */
function foundText(read: Store['read'], hit: TextHit, terms: SearchTerms): FoundText | undefined {
  const [first = 0] = hit;
  return first < 0 ? fileHit(read, first, terms) : versionHit(read, hit, terms);
}

function versionHit(read: Store['read'], hit: TextHit, terms: SearchTerms): FoundText | undefined {
  const found = foundVersion(read, hit);
  if (!found) return undefined;
  const { id, url, name, agency, tags, sha256, title } = found;
  return {
    source: { id, url, name, agency, tags },
    pack: null,
    sha256,
    observed_at: found.observed_at,
    observer: found.observer,
    original_observed_at: found.original_observed_at,
    is_current: found.is_current,
    other_versions: hit.length - 1,
    title,
    snippet: snippetIn(read, sha256, terms),
    derived: { tool: found.tool, version: found.tool_version, made_at: found.made_at },
  };
}

function fileHit(read: Store['read'], key: number, terms: SearchTerms): FoundText | undefined {
  const found = foundFile(read, key);
  if (!found) return undefined;
  const { pack, pack_title, path, others, sha256, received_at, title } = found;
  return {
    source: null,
    pack: { id: pack, title: pack_title, path, others },
    sha256,
    observed_at: received_at,
    observer: null,
    original_observed_at: null,
    is_current: true,
    other_versions: 0,
    title,
    snippet: snippetIn(read, sha256, terms),
    derived: { tool: found.tool, version: found.tool_version, made_at: found.made_at },
  };
}

function snippetIn(read: Store['read'], sha256: string, terms: SearchTerms): Snippet {
  const content = derivedDocument(read, 'text', sha256)?.content;
  const text = content ? decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS) : '';
  return snippetOf(text, terms);
}
