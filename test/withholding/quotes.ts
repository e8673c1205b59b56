import type { CollectingNode } from '../collection/support.ts';
import { withhold } from '../copies/withheldCopies.ts';
import { markersShownTo, streamedTo } from '../simulate/visitor.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { page, type ScriptedWeb } from '../support/network/scriptedWeb.ts';
import type { TestNode } from '../support/node.ts';

export const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };

/** A small page with a title. */
export const titled = (title: string, body = 'Some words.'): string =>
  `<html><title>${title}</title><body><p>${body}</p></body></html>`;

/** Where a visitor sees a marker. */
export async function seen(node: TestNode, marker: string): Promise<string[]> {
  const shown = await markersShownTo((address) => node.fetch(address), [marker]);
  const stream = await streamedTo((address, init) => node.fetch(address, init));
  return [...shown.map(({ at }) => at), ...(stream.includes(marker) ? ['the stream'] : [])];
}

/** Watches an address whose bytes are withheld from then on. Returns its source. */
export async function withheldPage(
  node: CollectingNode,
  web: ScriptedWeb,
  body: string,
  fields: object = {},
): Promise<{ id: string }> {
  web.script('/first', page(body, HTML));
  const source = await node.watch(web.url('/first'), { name: 'First', ...fields });
  await node.check([source.id]);
  await withhold(node.node, { sha256: sha256Of(body) });
  return source;
}
