import type { HandInDetails } from '../../../shared/collection/handedIn.ts';
import { Problem } from '../../../shared/problems.ts';
import { handInById } from '../../store/sqlite/collection/handIns.ts';
import { pageById } from '../../store/sqlite/collection/pages.ts';
import type { Store } from '../../store/store.ts';
import type { Texts } from '../derived/derived.ts';
import { decompressJson, type TextContent } from '../derived/process/tasks.ts';
import { readObject } from '../pages/archiveGate.ts';

/** A page of what was handed in, newest first. */
export { handInsPage as listHandIns } from '../../store/sqlite/collection/handIns.ts';

export interface ComparisonServices {
  store: Store;
  texts: Texts;
}

/** Texts are compared up to this many characters each. */
const MAX_CHARACTERS = 1_000_000;
const MAX_TEXT_BYTES = 16_777_216;
const MAX_SHARED = 5_000;

/**
 * Reads what was handed in, beside what the public got. Only the owner reads it.
 *
 * @throws Problem `not_found`, `derivation_busy`, `copy_unreachable`
 */
export async function readHandIn({ store, texts }: ComparisonServices, id: string): Promise<HandInDetails> {
  const handIn = handInById(store.read, id);
  if (!handIn) throw new Problem('not_found', 'Nothing with this id was handed in.');
  const page = handIn.page === null ? undefined : pageById(store.read, handIn.page);
  if (!page) return { ...handIn, comparison: null };
  const [seen, shown] = await Promise.all([
    textOfDocument(texts, handIn.document),
    textOfPage(store, page.text),
  ]);
  return { ...handIn, comparison: { page, ...compareBlocks(seen, shown) } };
}

async function textOfDocument(texts: Texts, document: string): Promise<string> {
  const { content } = await texts.textOf(document);
  return content === null ? '' : (JSON.parse(await decompressJson(content)) as TextContent).text;
}

async function textOfPage(store: Pick<Store, 'read' | 'blobs'>, sha256: string): Promise<string> {
  return (await readObject(store, sha256, MAX_TEXT_BYTES))?.toString() ?? '';
}

/** Compares two texts block by block. Blocks that differ only in white space are the same. */
function compareBlocks(
  seen: string,
  shown: string,
): Pick<NonNullable<HandInDetails['comparison']>, 'shared' | 'only_handed_in' | 'only_public' | 'truncated'> {
  const handedIn = blocksOf(seen);
  const ofPublic = blocksOf(shown);
  const shared = [...handedIn.intersection(ofPublic)];
  return {
    shared: shared.slice(0, MAX_SHARED),
    only_handed_in: handedIn.size - shared.length,
    only_public: ofPublic.size - shared.length,
    truncated: seen.length > MAX_CHARACTERS || shown.length > MAX_CHARACTERS || shared.length > MAX_SHARED,
  };
}

function blocksOf(text: string): Set<string> {
  return new Set(
    text
      .slice(0, MAX_CHARACTERS)
      .split(/[\n\f]/)
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => line !== ''),
  );
}
