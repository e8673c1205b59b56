import { readObjectText, searchObjectTexts } from '../../../collection/derived/texts/readText.ts';
import type { Texts } from '../../../collection/derived/texts/texts.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { okText, page } from '../../reply.ts';

/** Handlers for texts derived from archived objects. Responses are JSON, so no archived script can run. */
export function derivedHandlers(
  store: Store,
  texts: Texts,
): Pick<Handlers, 'searchTexts' | 'readObjectText'> {
  return {
    searchTexts: async ({ query, request }) => page(request, query, await searchObjectTexts(store, query)),
    readObjectText: async ({ params }) => okText(await readObjectText(store, texts, params.sha256 ?? '')),
  };
}
