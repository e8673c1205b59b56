import type { FoundLink } from '../../../shared/collection/follow.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { page, type ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import type { CollectingNode } from '../support.ts';

export const xml = (text: string) => page(text, { headers: { 'Content-Type': 'application/xml' } });

export async function foundLinks(node: CollectingNode, query = ''): Promise<FoundLink[]> {
  return (await node.read<{ items: FoundLink[] }>(`/manage/found?limit=500&${query}`)).items;
}

/** The paths of found addresses, in order. */
export async function pathsOf(found: Promise<FoundLink[]>, web: ScriptedWeb): Promise<string[]> {
  return (await found).map(({ url }) => url.replace(web.url(''), '')).sort();
}

/** Watches a document, follows it, and checks it once. */
export async function followedList(
  { node, web }: { node: CollectingNode; web: ScriptedWeb },
  body: ReturnType<typeof page>,
  follow: object,
): Promise<WatchedSource> {
  web.script('/list', body);
  const source = await node.watch(web.url('/list'), { follow: { limit: 50, ...follow } });
  await node.check();
  return node.source(source.id);
}
