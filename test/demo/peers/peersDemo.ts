import { join } from 'node:path';
import { buildIfStale } from '../../../server/launch/build.ts';
import { openScriptedWeb } from '../../e2e/support/scriptedWeb.ts';
import { closeTimestampAuthorities, TimestampAuthority } from '../../support/network/timestampAuthority.ts';
import { closeTestNodes } from '../../support/node.ts';
import { DemoNode } from './demoNode.ts';
import { takePictures } from './pictures.ts';
import { type Cast, damageAndRepair, prove, rewriteHistory } from './story.ts';

export interface PeersDemoOptions {
  /** An empty folder for the archives and the pictures. */
  folder: string;
  /** Resolves when the nodes are to be closed. */
  until: Promise<void>;
  say: (line: string) => void;
}

/**
 * Three nodes and a timestamp authority on loopback: one publishes, two mirror and cosign it. An object is damaged and
 * repaired, a history is rewritten and found out, and pictures show what the interface says.
 */
export async function demonstratePeers({ folder, until, say }: PeersDemoOptions): Promise<void> {
  await buildIfStale('renderer', say);
  const web = await openScriptedWeb();
  const authority = await TimestampAuthority.open();
  const nodes: DemoNode[] = [];
  try {
    for (const name of ['laboratory', 'library', 'newspaper'])
      nodes.push(await DemoNode.open(join(folder, name)));
    const [laboratory, library, newspaper] = nodes as [DemoNode, DemoNode, DemoNode];
    const cast: Cast = { laboratory, library, newspaper };
    await prove(cast, { web, authority: authority.url }, say);
    await damageAndRepair(cast, say);
    await rewriteHistory(cast, join(folder, 'laboratory-rewritten'), say);
    const pictures = await takePictures(cast, join(folder, 'pictures'));
    say(`${pictures.length} pictures are in ${join(folder, 'pictures')}.`);
    for (const [name, node] of Object.entries(cast) as [string, DemoNode][])
      say(`The ${name}: ${node.signInLink()}`);
    await until;
  } finally {
    for (const node of nodes) await node.close();
    await closeTimestampAuthorities();
    // Removes the folder of the authority.
    await closeTestNodes();
    await web.close();
  }
}
